/** Checks whether a backup can be trusted: exactly the files of its manifest, an intact database, usable secrets. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { printable } from '../core/printable.ts'
import { loadSecret } from '../crypto/secret.ts'
import { dataNames, secretNames } from '../data-directory.ts'
import { migrations as ours } from '../db/sqlite/migrations.ts'
import { schemaProblems } from '../db/sqlite/schema.ts'
import { inspectDatabase } from '../db/sqlite/snapshot.ts'
import { type Backup, MANIFEST } from './catalogue.ts'
import { hashOfFile, isBackupPath, sizeOfRegularFile } from './files.ts'
import { type TellProgress, untold } from './progress.ts'

/** Without them a database is of no use. */
const REQUIRED = [dataNames.database, ...secretNames]

/** Proves the audit log in a database file that no other process has open. @returns what is wrong with it */
export type AuditProof = (database: string) => Promise<string[]>

export type Sealed = Pick<Backup, 'path' | 'manifest'>

/** @returns everything that is wrong; nothing for a good one */
export async function verifyBackup(backup: Sealed, proveAudit: AuditProof, tell = untold): Promise<string[]> {
  const problems = await fileProblems(backup, tell)
  // What is damaged has been said; looking into it would only say so again.
  return problems.length > 0 ? problems : contentProblems(backup, proveAudit, tell)
}

async function fileProblems({ path: directory, manifest: { files } }: Sealed, tell: TellProgress): Promise<string[]> {
  // It is read before anything is known of it: no path of it may lead out of the backup.
  if (!files.every(({ path }) => isBackupPath(path))) return ['its manifest lists files that do not belong in a backup']
  const named = new Set(files.map(({ path }) => path))
  if (named.size < files.length) return ['its manifest lists a file twice']
  const problems = REQUIRED.filter((name) => !named.has(name)).map((name) => `${name} is not in its manifest`)
  const totalBytes = files.reduce((sum, { size }) => sum + size, 0)
  let doneBytes = 0
  const onRead = (bytes: number) => {
    doneBytes += bytes
    tell('Reading the files', doneBytes, totalBytes)
  }
  for (const { path, size, sha256 } of files) {
    const found = sizeOfRegularFile(directory, path)
    if (found === undefined) problems.push(`${path} is missing`)
    else if (found === 'irregular') problems.push(`${path} is not a regular file`)
    else if (found !== size || (await hashOfFile(join(directory, path), onRead)) !== sha256) {
      problems.push(`${path} has changed since the backup was made`)
    }
  }
  // SQLite would play a log that lies beside the database into it.
  const extra = entriesOf(directory).filter((path) => path !== MANIFEST && !named.has(path))
  return [...problems, ...extra.map((path) => `${printable(path)} is not in its manifest`)]
}

/** Names in the backup and in its one directory, as paths below it. A link in place of it does not count as a directory. */
function entriesOf(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) =>
    entry.name === dataNames.tls && entry.isDirectory()
      ? readdirSync(join(directory, entry.name)).map((inner) => `${entry.name}/${inner}`)
      : [entry.name],
  )
}

async function contentProblems(
  { path, manifest }: Sealed,
  proveAudit: AuditProof,
  tell: TellProgress,
): Promise<string[]> {
  tell('Checking the database')
  const inBackup = (name: string) => join(path, name)
  const { problems: damage, migrations } = inspectDatabase(inBackup(dataNames.database))
  if (damage.length > 0) return damage.map((problem) => `${dataNames.database}: ${problem}`)
  if (migrations.some((name, position) => ours[position]?.name !== name)) {
    return [`${dataNames.database} comes from a newer version of ncp (${manifest.version}); use that version`]
  }
  const schema = schemaProblems(inBackup(dataNames.database), migrations.length)
  if (schema.length > 0) return schema.map((problem) => `${dataNames.database}: ${problem}`)
  tell('Verifying the audit log')
  const unusable = secretNames.filter((name) => !holdsSecret(inBackup(name)))
  return [
    ...unusable.map((name) => `${name} contains no valid secret`),
    ...(await proveAudit(inBackup(dataNames.database))),
  ]
}

function holdsSecret(path: string): boolean {
  try {
    loadSecret(path, { create: false })
    return true
  } catch {
    return false
  }
}
