/** The threads that compute passwords give way to the event loop, and stay as they are where that is turned off. */
import { expect, test } from 'bun:test'
import { getPriority } from 'node:os'
import { join } from 'node:path'

const ARGON2 = join(import.meta.dir, '../../src/crypto/argon2.ts')
/** Prints the priority of each thread of the pool, once one has computed. */
const PROGRAM = `
  import { readdirSync, readFileSync } from 'node:fs'
  import { getPriority } from 'node:os'
  const { loadArgon2 } = await import(process.argv[1])
  const { hash } = await loadArgon2({ isNative: process.argv[2] === 'native', givesWay: process.argv[3] === 'gives way' })
  const hashing = hash('x', { memoryCost: 19456, timeCost: 2 })
  const threads = readdirSync('/proc/self/task').filter((thread) =>
    readFileSync('/proc/self/task/' + thread + '/comm', 'latin1').startsWith('Bun Pool'))
  await hashing
  console.log(JSON.stringify(threads.map((thread) => getPriority(Number(thread)))))`

function priorities(implementation: string, way: string): number[] {
  // A process of its own: without a privilege no thread is ever raised again.
  const { stdout } = Bun.spawnSync([process.execPath, '-e', PROGRAM, ARGON2, implementation, way])
  return JSON.parse(stdout.toString())
}

test.each(['native', 'plain'])('with %s code', (implementation) => {
  const own = getPriority(process.pid)
  const lowered = priorities(implementation, 'gives way')
  expect(lowered).toContain(Math.min(own + 10, 19))
  const equal = priorities(implementation, 'stays')
  expect(equal.length).toBeGreaterThan(0)
  expect(new Set(equal)).toEqual(new Set([own]))
})
