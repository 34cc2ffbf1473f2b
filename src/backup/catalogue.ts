/** Lists and reads backups: each is a directory with a manifest, named by the time it was made. */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/schema.ts'
import { codeOf } from '../core/error-code.ts'
import { formatTimestamp, parseTimestamp } from '../core/timestamp.ts'
import { dataNames } from '../data-directory.ts'
import { sizeOfRegularFile } from './files.ts'

export type Manifest = {
  format: 1
  /** Of the program that made it. */
  version: string
  /** RFC 3339, in UTC. */
  created_at: string
  /** The last migration of the database. */
  schema: string
  files: { path: string; size: number; sha256: string }[]
}

export type Backup = {
  name: string
  path: string
  /** Milliseconds since the epoch. */
  createdAt: number
  bytes: number
  manifest: Manifest
}

/** Where backups are kept. */
export function backupDirectory({ backupDir, data }: Pick<Config, 'backupDir' | 'data'>): string {
  return backupDir ?? join(data, dataNames.backups)
}

export const MANIFEST = 'manifest.json'
/** Some ten thousand files; a backup of ours has a dozen. */
const MAX_MANIFEST_BYTES = 1024 * 1024
const NAME = /^ncp-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z$/

/** @param nowMs milliseconds since the epoch */
export function backupName(nowMs: number): string {
  return `ncp-${formatTimestamp(nowMs).replaceAll(/[-:.]/g, '')}`
}

export const manifestPath = (backup: string): string => join(backup, MANIFEST)

/** @throws Error for a directory that holds no backup, or one that this program cannot read */
export function readBackup(path: string): Backup {
  const manifest = readManifest(path)
  const createdAt = isManifest(manifest) ? parseTimestamp(manifest.created_at) : undefined
  if (!isManifest(manifest) || createdAt === undefined) {
    throw new Error(`${path} is not a backup that this version of ncp can read`)
  }
  const bytes = manifest.files.reduce((sum, { size }) => sum + size, 0)
  return { name: path.split('/').at(-1) ?? path, path, createdAt, bytes, manifest }
}

function readManifest(path: string): unknown {
  const refuse = (reason: string): never => {
    throw new Error(`${path} is not a backup: its ${MANIFEST} ${reason}`)
  }
  try {
    const size = sizeOfRegularFile(path, MANIFEST)
    if (size === undefined) return refuse('is missing')
    if (size === 'irregular') return refuse('is not a regular file')
    if (size > MAX_MANIFEST_BYTES) return refuse(`is longer than ${MAX_MANIFEST_BYTES} bytes`)
    return JSON.parse(readFileSync(manifestPath(path), 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) return refuse('is damaged')
    const code = codeOf(error)
    if (code === undefined) throw error
    return refuse(`cannot be read (${code})`)
  }
}

/** Its words are printed, and their author must not be able to steer the operator's terminal. */
function isManifest(value: unknown): value is Manifest {
  const { format, version, created_at, schema, files } = (value ?? {}) as Record<keyof Manifest, unknown>
  return (
    format === 1 &&
    typeof created_at === 'string' &&
    isPlainWord(version) &&
    isPlainWord(schema) &&
    Array.isArray(files) &&
    files.every(
      (file) => typeof file?.path === 'string' && Number.isSafeInteger(file.size) && typeof file.sha256 === 'string',
    )
  )
}

const isPlainWord = (value: unknown): boolean => typeof value === 'string' && /^[\w.+-]{0,64}$/.test(value)

/** @returns the oldest first, without those that cannot be read; none where there is no such directory */
export function listBackups(directory: string): Backup[] {
  if (!existsSync(directory)) return []
  return readdirSync(directory)
    .filter((name) => NAME.test(name))
    .sort()
    .flatMap((name) => {
      try {
        return [readBackup(join(directory, name))]
      } catch {
        return []
      }
    })
}

/** Deletes the oldest. @param keep how many stay, 1 or more */
export function pruneBackups(directory: string, keep: number): Backup[] {
  const old = listBackups(directory).slice(0, -keep)
  for (const { path } of old) rmSync(path, { recursive: true })
  return old
}
