/** Ports for programs that cannot choose a free one themselves. */
import { createServer } from 'node:net'

/** @returns one of 127.0.0.1 that was free a moment ago */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.on('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(port))
    })
  })
}
