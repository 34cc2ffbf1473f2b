/** The backups in a directory: each is a directory of its own with a manifest, named by the time it was made. */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/schema.ts'
import { formatTimestamp, parseTimestamp } from '../core/timestamp.ts'

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
  return backupDir ?? join(data, 'backups')
}

const MANIFEST = 'manifest.json'
const NAME = /^ncp-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z$/

/** @param nowMs milliseconds since the epoch */
export function backupName(nowMs: number): string {
  return `ncp-${formatTimestamp(nowMs).replaceAll(/[-:.]/g, '')}`
}

export const manifestPath = (backup: string): string => join(backup, MANIFEST)

/** @throws Error for a directory that holds no backup, or one that this program can't read */
export function readBackup(path: string): Backup {
  let manifest: Manifest
  try {
    manifest = JSON.parse(readFileSync(manifestPath(path), 'utf8'))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Error(
      `${path} is no backup: its ${MANIFEST} ${code === undefined ? 'is damaged' : `can't be read (${code})`}`,
    )
  }
  const createdAt = parseTimestamp(`${manifest.created_at}`)
  if (manifest.format !== 1 || createdAt === undefined || !Array.isArray(manifest.files)) {
    throw new Error(`${path} is no backup that this version of ncp can read`)
  }
  const bytes = manifest.files.reduce((sum, { size }) => sum + size, 0)
  return { name: path.split('/').at(-1) ?? path, path, createdAt, bytes, manifest }
}

/** @returns the oldest first, without those that can't be read; none where there is no such directory */
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
