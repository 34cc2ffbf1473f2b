/** One port, several listeners of this process: the newest gets every connection, whichever of the others is closed. */
import { expect, test } from 'bun:test'
import { sharePort } from '../../src/system/shared-port.ts'

function serve(name: string, port: number, reusePort: boolean) {
  return Bun.serve({ hostname: '127.0.0.1', port, reusePort, fetch: () => new Response(name) })
}

/** Who answers, over many connections: without the program in the kernel it would be each in turn. */
async function answering(port: number): Promise<string[]> {
  const names = new Set<string>()
  for (let request = 0; request < 40; request++) {
    const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' }, keepalive: false })
    names.add(await response.text())
  }
  return [...names]
}

test.each([[['a', 'b', 'c']], [['c', 'b', 'a']], [['b', 'a', 'c']]])('closing %j', async (closing) => {
  const first = serve('a', 0, false)
  const port = first.port ?? 0
  const shared = sharePort(port)
  const listeners: Record<string, Bun.Server<undefined>> = { a: first }
  for (const name of ['b', 'c', 'd']) {
    listeners[name] = shared.takeOver(() => serve(name, port, true))
    expect(await answering(port)).toEqual([name])
  }
  for (const name of closing) {
    await listeners[name]?.stop()
    shared.closed()
    expect(await answering(port)).toEqual(['d'])
  }
  listeners.e = shared.takeOver(() => serve('e', port, true))
  expect(await answering(port)).toEqual(['e'])
  for (const listener of Object.values(listeners)) await listener.stop()
  shared.closed()
})

test('no other process gets in: binding the port exclusively is refused', () => {
  const first = serve('a', 0, false)
  const port = first.port ?? 0
  const second = sharePort(port).takeOver(() => serve('b', port, true))
  expect(() => serve('other', port, false)).toThrow('in use')
  first.stop()
  expect(() => serve('other', port, false)).toThrow('in use')
  second.stop()
})
