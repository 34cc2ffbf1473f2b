/** The addresses of this machine. */
import { networkInterfaces } from 'node:os'

/** Without those of a link alone, which mean nothing elsewhere. */
export function ownAddresses(): string[] {
  try {
    return Object.values(networkInterfaces())
      .flat()
      .flatMap((entry) => (entry && !entry.address.startsWith('fe80:') ? [entry.address] : []))
  } catch {
    // A sandbox without netlink sockets keeps them to itself: names and loopback have to do.
    return []
  }
}
