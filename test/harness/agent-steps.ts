/**
 * Preloaded into a real `ncp agent`: notes each of its steps, and kills it (SIGKILL) when it is about to take one.
 *
 * A step is what changes something outside of the process: a call of the file system, a program that is started, a report.
 * AGENT_STEPS names a file to which each is appended before it is taken, a line each; AGENT_DIES_BEFORE is a regular
 * expression for such a line.
 * AGENT_DIES_UNPACKING: it dies once an unpacker runs, which is stopped first so that it cannot end by itself.
 */
import { createRequire } from 'node:module'
import { libc } from '../../src/system/libc.ts'

type Call = (...args: never[]) => unknown

const { AGENT_STEPS, AGENT_DIES_BEFORE, AGENT_DIES_UNPACKING } = process.env
// What is imported cannot be changed; what is required is what later imports get.
const require = createRequire(import.meta.url)
const fs = require('node:fs') as typeof import('node:fs')
const promises = require('node:fs/promises') as typeof import('node:fs/promises')
const fatal = AGENT_DIES_BEFORE === undefined ? undefined : new RegExp(AGENT_DIES_BEFORE)
const { appendFileSync, lstatSync, readFileSync } = fs

function die(): never {
  process.kill(process.pid, 'SIGKILL')
  for (;;) lstatSync('/')
}

function take(step: string): void {
  if (AGENT_STEPS !== undefined) appendFileSync(AGENT_STEPS, `${step}\n`)
  if (fatal?.test(step)) die()
}

/** @param stepOf undefined for a call that changes nothing */
function watch<T extends object>(object: T, name: keyof T, stepOf: (...args: never[]) => string | undefined): void {
  const real = object[name] as Call
  const watched: Call = (...args) => {
    const step = stepOf(...args)
    if (step !== undefined) take(step)
    return real.apply(object, args)
  }
  object[name] = watched as T[keyof T]
}

const exists = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined
const makes = (path: string) => (exists(path) ? undefined : `mkdir ${path}`)
const removes = (path: string) => (exists(path) ? `rm ${path}` : undefined)
const writes = (path: unknown, flags?: unknown) =>
  typeof path === 'string' && flags !== 0 && flags !== 'r' ? `write ${path}` : undefined
const opens = (path: string, flags: unknown) =>
  typeof flags === 'number' && flags % 4 !== 0 ? `write ${path}` : undefined

watch(fs, 'mkdirSync', makes)
watch(fs, 'openSync', opens)
watch(fs, 'writeFileSync', (path: unknown) => writes(path))
watch(fs, 'chownSync', (path: string) => `chown ${path}`)
watch(fs, 'chmodSync', (path: string) => `chmod ${path}`)
watch(fs, 'symlinkSync', (_: string, path: string) => `symlink ${path}`)
watch(fs, 'renameSync', (_: string, path: string) => `rename ${path}`)
watch(fs, 'rmSync', removes)
watch(fs, 'rmdirSync', (path: string) => `rmdir ${path}`)
watch(promises, 'mkdir', makes)
watch(promises, 'open', opens)
watch(promises, 'writeFile', (path: unknown) => writes(path))
watch(promises, 'chown', (path: string) => `chown ${path}`)
watch(promises, 'chmod', (path: string) => `chmod ${path}`)
watch(promises, 'symlink', (_: string, path: string) => `symlink ${path}`)
watch(promises, 'rename', (_: string, path: string) => `rename ${path}`)
watch(promises, 'rm', removes)
watch(libc(), 'lsetxattr', (path: Buffer) => `acl ${path.toString().replace('\0', '')}`)
watch(globalThis, 'fetch', (_: string, { body }: { body?: string }) => {
  for (const step of body === undefined ? [] : partsOf(JSON.parse(body))) take(step)
  return undefined
})

type Report = {
  sites: { site_id: number; state: string }[]
  releases: { site_id: number; state: string }[]
  removed_subscriptions: number[]
  node?: object
  description?: object
}

/** A report has several subjects. */
const partsOf = ({ sites = [], releases = [], removed_subscriptions: removed = [], node, description }: Report) => [
  ...sites.map(({ site_id, state }) => `report site ${site_id} ${state}`),
  ...releases.map(({ site_id, state }) => `report release of ${site_id} ${state}`),
  ...removed.map((id) => `report subscription ${id} removed`),
  ...(node ? ['report node'] : []),
  ...(description ? ['report description'] : []),
]

watch(Bun, 'spawn', (command: string[], options: { cwd?: string }) => nameOf(command, options))

/** The program behind those that only set its limits and its user, and what it works on. */
function nameOf(command: string[], { cwd = '/' }: { cwd?: string }): string {
  const rest = command.slice(command.findLastIndex((word) => /^--(pdeathsig|no-new-privs|inh-caps)/.test(word)) + 1)
  const program = rest.includes('unpack') ? 'unpack' : rest[0]
  return ['spawn', program, program === 'unpack' ? cwd : rest.at(-1)].join(' ')
}

if (AGENT_DIES_UNPACKING !== undefined) {
  const watched = Bun.spawn as Call
  Bun.spawn = ((...args: never[]) => {
    const child = watched(...args) as { pid: number }
    if ((args[0] as unknown as string[]).includes('unpack')) {
      // Not before it is the unpacker itself.
      while (!/^[^\0]*bun\0/.test(readFileSync(`/proc/${child.pid}/cmdline`, 'utf8'))) lstatSync('/')
      process.kill(child.pid, 'SIGSTOP')
      die()
    }
    return child
  }) as typeof Bun.spawn
}
