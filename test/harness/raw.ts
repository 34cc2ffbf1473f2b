/** Requests that no HTTP client would send, written to the socket as they are. */
import { connect } from 'node:net'

/** How long a server may stay silent before a client that waits for nothing in particular hangs up. */
const SILENCE_MS = 100

/** @returns everything the server sends until it closes the connection, or `until` matches */
export function sendRaw(origin: string, text: string | Uint8Array, until?: RegExp): Promise<string> {
  const { hostname, port } = new URL(origin)
  return new Promise((resolve, reject) => {
    let received = ''
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(text))
    socket.setEncoding('utf8')
    socket.on('data', (chunk: string) => {
      received += chunk
      if (until?.test(received)) socket.end(() => resolve(received))
    })
    socket.on('close', () => resolve(received))
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // A server that refuses may reset the connection while the request is still being written.
      if (error.code === 'ECONNRESET' || error.code === 'EPIPE') resolve(received)
      else reject(error)
    })
  })
}

/** @returns what the server has sent until it closes the connection, or says nothing for a moment */
export function sendAndHangUp(origin: string, bytes: Uint8Array): Promise<string> {
  const { hostname, port } = new URL(origin)
  return new Promise((resolve) => {
    let received = ''
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(bytes))
    socket.setEncoding('latin1')
    socket.setTimeout(SILENCE_MS, () => socket.destroy())
    socket.on('data', (chunk: string) => {
      received += chunk
    })
    // A server that refuses may reset the connection while the request is still being written.
    socket.on('error', () => socket.destroy())
    socket.on('close', () => resolve(received))
  })
}
