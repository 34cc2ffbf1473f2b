/** One connection to a panel, with no retry and no pool in between: what is lost on it is lost. */
import { connect, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { disableWorkarounds } from './workarounds.ts'

export type ConnectionAnswer = { status: number; head: string; body: string }

export type Connection = Awaited<ReturnType<typeof openConnection>>

const HOST = 'localhost'

/** @throws Error when it is refused */
export async function openConnection(port: number, { tls = false }: { tls?: boolean } = {}) {
  const socket: Socket = tls
    ? connectTls({ host: HOST, port, rejectUnauthorized: false })
    : connect({ host: HOST, port })
  let received = ''
  let waiting: { resolve(answer: ConnectionAnswer): void; reject(error: Error): void } | undefined
  let isClosed = false
  socket.setEncoding('latin1')

  function deliver(): void {
    const end = received.indexOf('\r\n\r\n')
    if (!waiting || end === -1) return
    const head = received.slice(0, end)
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0)
    const whole = end + 4 + length
    if (received.length < whole) return
    waiting.resolve({ status: Number(head.split(' ')[1]), head, body: received.slice(end + 4, whole) })
    waiting = undefined
    received = received.slice(whole)
  }

  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.once(tls ? 'secureConnect' : 'connect', () => resolve())
  })
  socket.on('error', () => undefined)
  socket.on('data', (chunk: string) => {
    received += chunk
    deliver()
  })
  socket.on('close', () => {
    isClosed = true
    waiting?.reject(new Error('closed before the answer'))
  })

  return {
    /** Of the server's certificate. */
    fingerprint: () => (socket as TLSSocket).getPeerCertificate().fingerprint256,
    isClosed: () => isClosed,
    write: (bytes: string | Uint8Array) => socket.write(bytes),

    /** Resolves with the next answer. @throws Error when the connection ends before it */
    answer(): Promise<ConnectionAnswer> {
      return new Promise((resolve, reject) => {
        waiting = { resolve, reject }
        if (isClosed) reject(new Error('closed before the answer'))
        else deliver()
      })
    },

    /** @param headers further lines */
    get(path: string, headers = ''): Promise<ConnectionAnswer> {
      const answer = this.answer()
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${HOST}:${port}\r\n${headers}\r\n`)
      return answer
    },

    close: () => socket.destroy(),
  }
}

/**
 * The fingerprint of the certificate that a new connection is shown.
 *
 * @returns undefined where the connection is refused while a certificate changes, which only a panel without the hand-over of
 * its port may do
 */
export async function servedCertificate({ port }: { port: number }): Promise<string | undefined> {
  try {
    const connection = await openConnection(port, { tls: true })
    const fingerprint = connection.fingerprint()
    connection.close()
    return fingerprint
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (disableWorkarounds.includes('port-handover') && ['ECONNREFUSED', 'ECONNRESET'].includes(code)) return undefined
    throw error
  }
}
