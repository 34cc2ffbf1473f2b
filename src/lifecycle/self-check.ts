/** One request to itself, by the way that everybody takes: the port, TLS, the gate and a route. */
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

const TIMEOUT_MS = 10_000

/**
 * Not by `fetch`, which would go through a proxy of the environment.
 *
 * @param host a name or an address, an IPv6 one without brackets
 * @throws Error when the answer is not 200, or there is none in time
 */
export function checkItself(host: string, port: number, options: { tls: boolean }): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`the panel does not answer itself on ${host} port ${port}: ${why}`))
    // Whether clients trust the certificate is not the question here.
    const socket: Socket = options.tls ? connectTls({ host, port, rejectUnauthorized: false }) : connect({ host, port })
    let answer = ''
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('no answer in time')))
    socket.on(options.tls ? 'secureConnect' : 'connect', () => {
      socket.write('GET /livez HTTP/1.1\r\nHost: localhost:443\r\nConnection: close\r\n\r\n')
    })
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('error', (error) => fail(error.message))
    socket.on('close', () => (answer.startsWith('HTTP/1.1 200 ') ? resolve() : fail(answer.split('\r\n')[0] ?? '')))
  })
}
