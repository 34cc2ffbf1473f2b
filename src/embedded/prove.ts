/** Asks the listener itself which generation of a site it serves: what was loaded is not yet what is served. */
import { connect } from 'node:net'
import { type ProbeAnswer, probePath } from './probe.ts'

const TIMEOUT_MS = 5000
/** More than an answer has. */
const MAX_BYTES = 4096

export type Prove = (host: string) => Promise<ProbeAnswer>

/**
 * Not by `fetch`, which would go through a proxy of the environment.
 *
 * @param address of the listener, on this machine
 */
export function createProve(address: { host: string; port: number }, token: string): Prove {
  return (host) =>
    new Promise((resolve, reject) => {
      let answer = ''
      const socket = connect(address)
      socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('no answer in time')))
      socket.on('connect', () => {
        socket.write(`GET ${probePath(token)} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
      })
      socket.on('data', (chunk) => {
        answer += chunk
        if (answer.length > MAX_BYTES) socket.destroy(new Error('the answer is not that of a probe'))
      })
      socket.on('error', reject)
      socket.on('close', () => {
        const body = answer.slice(answer.indexOf('\r\n\r\n') + 4)
        if (/^HTTP\/1\.1 200 /.test(answer)) resolve(JSON.parse(body))
        else reject(new Error(`the listener answers ${host} with ${answer.split('\r\n')[0] || 'nothing'}`))
      })
    })
}
