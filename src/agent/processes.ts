/** The processes of a subscription's user: found by their number in /proc, and ended until none is left. */
import { readdirSync, readFileSync } from 'node:fs'
import { FIRST_UID } from './layout.ts'

const STEP_MS = 20
/** Each round starts over: a process may have made another one. */
const MAX_ROUNDS = 500

export type Process = { pid: number; parent: number; uid: number }

/** @returns the processes of customers, those of one user if it is named */
export function processesOf(uid?: number): Process[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    const status = readProcess(name, 'status')
    // By its real user, which it cannot change: a directory of /proc may be root's for one that may not be looked into.
    const [, owner] = /^Uid:\t(\d+)/m.exec(status) ?? []
    const [, parent] = /^PPid:\t(\d+)/m.exec(status) ?? []
    const isWanted = uid === undefined ? Number(owner) >= FIRST_UID : Number(owner) === uid
    // One that has ended, and that nobody has asked about, holds nothing any longer.
    if (owner === undefined || !isWanted || /^State:\tZ/m.test(status)) return []
    return [{ pid: Number(name), parent: Number(parent), uid: Number(owner) }]
  })
}

/** What a process calls itself, which it can choose; empty for one that is gone. */
export function titleOf(pid: number): string {
  return readProcess(`${pid}`, 'cmdline').replaceAll('\0', ' ').trim()
}

/** The children of a process that were not adopted. */
export function childrenOf(pid: number): number {
  return readProcess(`${pid}`, `task/${pid}/children`).split(' ').filter(Boolean).length
}

/**
 * Ends every process of a user, and those that they make while this goes on.
 *
 * @throws Error where some are left: the user cannot be removed then
 */
export async function endProcessesOf(uid: number): Promise<void> {
  if (uid < FIRST_UID) throw new Error(`user ${uid} is no customer`)
  for (let round = 0; round < MAX_ROUNDS; round++) {
    if (processesOf(uid).length === 0) return
    await killAllOf(uid)
    await Bun.sleep(STEP_MS)
  }
  throw new Error(`processes of user ${uid} could not be ended`)
}

/** As that user, who can signal nobody else, and all at once, so that none of them can run away from it. */
const killAllOf = (uid: number) => signalAs(uid, 'KILL', [-1])

/** As a customer's user: where a number belongs to another process by now, nothing of somebody else is hit. */
export async function signalAs(uid: number, signal: 'KILL' | 'QUIT', pids: readonly number[]): Promise<void> {
  if (uid < FIRST_UID) throw new Error(`user ${uid} is no customer`)
  if (pids.length === 0) return
  const identity = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--no-new-privs']
  const child = Bun.spawn(['/usr/bin/setpriv', ...identity, '/bin/sh', '-c', `kill -${signal} ${pids.join(' ')}`], {
    cwd: '/',
    env: {},
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  await child.exited
}

function readProcess(name: string, file: string): string {
  try {
    return readFileSync(`/proc/${name}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
