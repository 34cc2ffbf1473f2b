/** Unix sockets that listen for another program: this process accepts nothing, and only learns that a client waits. */
import { closeSync } from 'node:fs'
import { pid, umask } from 'node:process'
import { libc } from './libc.ts'

const AF_UNIX = 1
const SOCK_STREAM = 1
const SOCK_CLOEXEC = 0o2000000
/** The longest name of a Unix socket, with the zero byte at its end. */
const PATH_BYTES = 108
/** Clients that wait while the program starts; the kernel's own limit is `net.core.somaxconn`. */
const BACKLOG = 4096

/** Of Linux, the same on x86-64 and arm64. */
const F_GETFL = 3
const F_SETFL = 4
const F_SETOWN = 8
const F_SETSIG = 10
const O_ASYNC = 0o20000
/** Ignored unless there is a handler: one that comes late ends no process. */
const SIGURG = 23
const POLLIN = 1
/** struct pollfd: a descriptor, and two masks of two bytes each. */
const POLL_BYTES = 8

/**
 * @param path absolute; nothing is there yet, and only root can change the directory
 * @returns a descriptor, which no program inherits by accident; the file is for this user alone until its mode is changed
 * @throws Error of the system, in words
 */
export function listenAt(path: string): number {
  const name = Buffer.from(`${path}\0`)
  if (!path.startsWith('/') || name.indexOf(0) !== name.length - 1 || name.length > PATH_BYTES) {
    throw new Error(`not a path for a socket: ${JSON.stringify(path)}`)
  }
  const descriptor = libc().socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)
  if (descriptor < 0) throw new Error('no socket could be made: are there too many open files?')
  const address = Buffer.concat([new Uint8Array(new Uint16Array([AF_UNIX]).buffer), name])
  const before = umask(0o177)
  try {
    if (libc().bind(descriptor, address, address.byteLength) !== 0)
      throw new Error(`${path} could not be made a socket`)
    if (libc().listen(descriptor, BACKLOG) !== 0) throw new Error(`${path} cannot listen`)
  } catch (error) {
    closeSync(descriptor)
    throw error
  } finally {
    umask(before)
  }
  return descriptor
}

/** Whether a client waits to be accepted. */
export function hasClient(descriptor: number): boolean {
  return withClients([descriptor]).length > 0
}

function withClients(descriptors: readonly number[]): number[] {
  const polled = new DataView(new ArrayBuffer(POLL_BYTES * descriptors.length))
  for (const [index, descriptor] of descriptors.entries()) {
    polled.setInt32(POLL_BYTES * index, descriptor, true)
    polled.setUint16(POLL_BYTES * index + 4, POLLIN, true)
  }
  if (libc().poll(new Uint8Array(polled.buffer), descriptors.length, 0) <= 0) return []
  return descriptors.filter((_, index) => (polled.getUint16(POLL_BYTES * index + 6, true) & POLLIN) !== 0)
}

export type ClientWatch = ReturnType<typeof createClientWatch>

/**
 * Watches listening sockets by a signal of the kernel (`O_ASYNC`, fcntl(2)): no thread waits and nothing is polled, however
 * many there are.
 *
 * Whoever shares a socket can choose another signal for its owner, SIGKILL too. So a socket that another program has had
 * must never be watched again: `release` takes the ownership away before it is handed over, for good.
 */
export function createClientWatch() {
  const watched = new Map<number, () => void>()

  function look(): void {
    if (watched.size === 0) return
    for (const descriptor of withClients([...watched.keys()])) watched.get(descriptor)?.()
  }

  function own(descriptor: number, owner: number): void {
    const flags = libc().fcntl(descriptor, F_GETFL, 0)
    const wanted = owner === 0 ? flags & ~O_ASYNC : flags | O_ASYNC
    const done = [
      libc().fcntl(descriptor, F_SETOWN, owner),
      libc().fcntl(descriptor, F_SETSIG, owner === 0 ? 0 : SIGURG),
      libc().fcntl(descriptor, F_SETFL, wanted),
    ]
    if (done.some((result) => result !== 0)) throw new Error('the system does not signal clients of a socket')
  }

  process.on('SIGURG', look)

  return {
    /** Calls back at each client that comes, and soon if one waits already. `release` ends it. @throws Error of the system */
    watch(descriptor: number, onClient: () => void): void {
      own(descriptor, pid)
      watched.set(descriptor, onClient)
      queueMicrotask(() => {
        if (watched.get(descriptor) === onClient && hasClient(descriptor)) onClient()
      })
    },

    /** To be called before the socket is handed over, after which it is never watched again. */
    release(descriptor: number): void {
      if (watched.delete(descriptor)) own(descriptor, 0)
    },

    /** Calls back for every client that waits, as if the signal had come again. */
    look,

    close(): void {
      process.off('SIGURG', look)
      watched.clear()
    },
  }
}
