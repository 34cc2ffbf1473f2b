/** A socket that listens for another program: who may connect, that nobody is accepted, and what its next owner can do. */
import { afterAll, expect, test } from 'bun:test'
import { closeSync, lstatSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { createClientWatch, hasClient, listenAt } from '../../src/system/listening-socket.ts'
import { newDirectory } from '../harness/directory.ts'
import { until } from '../harness/until.ts'

const directory = newDirectory()
const watch = createClientWatch()
const clients: Socket[] = []
let count = 0

afterAll(() => {
  for (const client of clients) client.destroy()
  watch.close()
  rmSync(directory, { recursive: true })
})

function open() {
  const path = join(directory, `${++count}.sock`)
  return { path, descriptor: listenAt(path) }
}

const visit = (path: string) => {
  const client = connect(path).on('error', () => undefined)
  clients.push(client)
  return client
}

test('a socket is for its maker alone until it is opened to others, and no child inherits it', async () => {
  const { path, descriptor } = open()
  expect(lstatSync(path).mode & 0o777).toBe(0o600)
  expect(lstatSync(path).isSocket()).toBeTrue()
  const child = Bun.spawn(['ls', '-l', '/proc/self/fd'], { stdout: 'pipe' })
  const output = await new Response(child.stdout).text()
  // Its own output is a socket pair.
  expect(output).not.toMatch(/ (?:[3-9]|\d\d+) -> socket:/)
  closeSync(descriptor)
})

test.each([['relative.sock'], [`/${'x'.repeat(107)}`], ['/tmp/a\0b']])('%j is not a path for a socket', (path) => {
  expect(() => listenAt(path)).toThrow('not a path for a socket')
})

test('a path that is taken is not replaced', () => {
  const { path, descriptor } = open()
  expect(() => listenAt(path)).toThrow('could not be made a socket')
  closeSync(descriptor)
})

test('a client is noticed and left to wait; a watched socket tells of it, one of many too', async () => {
  const sockets = Array.from({ length: 300 }, open)
  const seen: number[] = []
  for (const { descriptor } of sockets) watch.watch(descriptor, () => seen.push(descriptor))
  const chosen = sockets[217]
  if (!chosen) throw new Error('no such socket')
  expect(hasClient(chosen.descriptor)).toBeFalse()
  const client = visit(chosen.path)
  await until('the signal', () => seen.length > 0)
  expect(new Set(seen)).toEqual(new Set([chosen.descriptor]))
  expect(hasClient(chosen.descriptor)).toBeTrue()
  expect(client.destroyed).toBeFalse()
  for (const { descriptor } of sockets) {
    watch.release(descriptor)
    closeSync(descriptor)
  }
})

test('a client that came before the socket was watched is told of', async () => {
  const { path, descriptor } = open()
  visit(path)
  await until('the client', () => hasClient(descriptor))
  let seen = 0
  watch.watch(descriptor, () => seen++)
  await until('being told', () => seen > 0)
  watch.release(descriptor)
  closeSync(descriptor)
})

/** Chooses SIGKILL for the owner of the socket on its descriptor 3, and waits to be ended. */
const ATTACK = `
  open(my $socket, '+<&=', 3) or die $!;
  require Fcntl;
  fcntl($socket, 10, 9) or die "F_SETSIG: $!";
  my $flags = fcntl($socket, 3, 0);
  fcntl($socket, 4, $flags | 020000) or die "F_SETFL: $!";
  $| = 1;
  print "ready\\n";
  sleep 100;
`

test('a program that was given a socket cannot have its giver killed by the next client', async () => {
  const { path, descriptor } = open()
  let told = 0
  watch.watch(descriptor, () => told++)
  watch.release(descriptor)
  const child = Bun.spawn(['perl', '-e', ATTACK], { stdio: ['ignore', 'pipe', 'inherit', descriptor] })
  const reader = child.stdout.getReader()
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('ready\n')
  visit(path)
  await until('the client', () => hasClient(descriptor))
  expect(told).toBe(0)
  child.kill('SIGKILL')
  await child.exited
  closeSync(descriptor)
})
