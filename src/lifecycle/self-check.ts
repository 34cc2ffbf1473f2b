/** Sends a request to the panel on this machine the way every client does: through the port, TLS, the gate and a route. */
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

const TIMEOUT_MS = 10_000

export type PanelAddress = {
  /** A name or an address, an IPv6 one without brackets. */
  host: string
  port: number
  tls: boolean
}

export type PanelAnswer = {
  status: number
  /** Status line and headers, as they were sent. */
  head: string
  body: string
}

/** @throws Error when the panel doesn't answer, or not with 200 */
export async function checkItself(address: PanelAddress): Promise<void> {
  const { status } = await askPanel(address, '/livez')
  if (status !== 200) throw new Error(`${unanswered(address)}: status ${status}`)
}

/**
 * Not by `fetch`, which would go through a proxy of the environment.
 *
 * @throws Error when there is no answer in time
 */
export function askPanel(address: PanelAddress, path: string): Promise<PanelAnswer> {
  const { host, port, tls } = address
  return new Promise((resolve, reject) => {
    // Whether clients trust the certificate is not the question here.
    const socket: Socket = tls ? connectTls({ host, port, rejectUnauthorized: false }) : connect({ host, port })
    let answer = ''
    const fail = (why: string) => reject(new Error(`${unanswered(address)}: ${why}`))
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('no answer in time')))
    socket.on(tls ? 'secureConnect' : 'connect', () => {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost:443\r\nConnection: close\r\n\r\n`)
    })
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('error', (error) => fail(error.message || String((error as NodeJS.ErrnoException).code)))
    socket.on('close', () => {
      const status = /^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]
      if (status === undefined) fail('no answer')
      else {
        const end = answer.indexOf('\r\n\r\n')
        resolve({ status: Number(status), head: answer.slice(0, end), body: answer.slice(end + 4) })
      }
    })
  })
}

function unanswered({ host, port }: PanelAddress): string {
  return `the panel does not answer on ${host} port ${port}`
}
