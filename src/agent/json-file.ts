/** What the agent keeps for the next one: a file of JSON that only root reads. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { sync } from '../system/sync.ts'

const PRIVATE = 0o600

/** @returns undefined where there is none. @throws Error for what is no JSON */
export function readJson<Value>(path: string): Value | undefined {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Value) : undefined
}

/** All of it or nothing, whatever happens. @throws Error of the system */
export function writeJson(path: string, value: object): void {
  const made = `${path}.new`
  writeFileSync(made, JSON.stringify(value), { mode: PRIVATE })
  sync(made)
  renameSync(made, path)
}
