/** Whether a backup can be trusted: every file as it was written, the database whole, the secrets usable. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { loadSecret } from '../crypto/secret.ts'
import { migrations as ours } from '../db/migrations.ts'
import { inspectDatabase } from '../db/snapshot.ts'
import type { Backup } from './catalogue.ts'
import { DATABASE, hashOfFile, isSafePath } from './files.ts'

/** Without them a database is of no use. */
const REQUIRED = [DATABASE, 'jwt.key', 'totp.key']

/** @returns everything that is wrong; nothing for a good one */
export async function verifyBackup({ path, manifest }: Backup): Promise<string[]> {
  // It is read before anything is known of it: no path of it may lead out of the backup.
  if (!manifest.files.every(({ path }) => isSafePath(path))) return ['its manifest names files outside of the backup']
  const problems = REQUIRED.filter((name) => !manifest.files.some((file) => file.path === name)).map(
    (name) => `${name} is not in it`,
  )
  for (const file of manifest.files) {
    const found = statSync(join(path, file.path), { throwIfNoEntry: false })
    if (!found) problems.push(`${file.path} is missing`)
    else if (found.size !== file.size || (await hashOfFile(join(path, file.path))) !== file.sha256) {
      problems.push(`${file.path} is not as it was written`)
    }
  }
  // What is damaged has been said; looking into it would only say so again.
  if (problems.length > 0) return problems

  const database = inspectDatabase(join(path, DATABASE))
  problems.push(...database.problems.map((problem) => `${DATABASE}: ${problem}`))
  const known = ours.map(({ name }) => name)
  if (database.migrations.some((name, position) => known[position] !== name)) {
    problems.push(`${DATABASE} is of a newer version of ncp (${manifest.version}); use that one`)
  }
  for (const name of ['jwt.key', 'totp.key']) {
    try {
      loadSecret(join(path, name), { create: false })
    } catch {
      problems.push(`${name} holds no secret`)
    }
  }
  return problems
}
