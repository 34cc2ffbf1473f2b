/** Talks to systemd, or to another service manager that speaks its protocol (sd_notify(3)). */
import { libc } from './libc.ts'

const AF_UNIX = 1
const SOCK_DGRAM = 2
const SOCK_CLOEXEC = 0o2000000
const MSG_NOSIGNAL = 0x4000
const CLOCK_MONOTONIC = 1
/** The longest name of a Unix socket. */
const PATH_BYTES = 108

export type ServiceManager = {
  /** Requests are served, for the first time or again after `reloading`. @param status a line for `systemctl status` */
  ready(status: string): void
  reloading(): void
  stopping(): void
  /** All is well. Without it for the watchdog time, the manager restarts the panel. */
  alive(): void
}

/**
 * @param address of a datagram socket: a path, or a name behind `@`
 * @throws Error for an address of another kind, or when there is no C library
 */
export function connectServiceManager(address: string): ServiceManager {
  const target = socketAddress(address)
  const socket = libc().socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)
  if (socket < 0) throw new Error('no socket for the service manager')

  function send(...lines: string[]): void {
    const message = Buffer.from(lines.join('\n'))
    // A manager that is away is no reason to stop: it learns of the panel by itself, or ends it.
    libc().sendto(socket, message, message.byteLength, MSG_NOSIGNAL, target, target.byteLength)
  }

  return {
    ready: (status) => send('READY=1', `STATUS=${status}`),
    reloading: () => send('RELOADING=1', `MONOTONIC_USEC=${monotonicMicroseconds()}`),
    stopping: () => send('STOPPING=1', 'STATUS=finishing the requests in flight'),
    alive: () => send('WATCHDOG=1'),
  }
}

/** struct sockaddr_un. A name behind `@` is an abstract one, which begins with a zero byte. */
function socketAddress(address: string): Uint8Array {
  const name = Buffer.from(address)
  if (!/^[/@]./.test(address) || name.byteLength >= PATH_BYTES) {
    throw new Error('NOTIFY_SOCKET: must be a path, or a name after @')
  }
  if (address.startsWith('@')) name[0] = 0
  const family = new Uint8Array(new Uint16Array([AF_UNIX]).buffer)
  return Buffer.concat([family, name])
}

function monotonicMicroseconds(): bigint {
  const time = new BigInt64Array(2)
  libc().clock_gettime(CLOCK_MONOTONIC, time)
  const [seconds = 0n, nanoseconds = 0n] = time
  return seconds * 1_000_000n + nanoseconds / 1000n
}
