/** Sends a large body with its progress, which `fetch` does not tell. */
import { base } from '../base.ts'
import { renewed } from '../session/renewal.ts'
import { session } from '../session/session.ts'
import { Problem } from './problem.ts'

type Options = {
  /** From the root of the API, such as `/api/v1/sites/1/deployments`. */
  path: string
  body: Blob
  idempotencyKey: string
  /** @param part from 0 to 1 */
  onProgress(part: number): void
  signal: AbortSignal
}

type Answer = { status: number; text: string; header(name: string): string | null }

/** @returns the data of the answer. @throws Problem */
export async function upload<Data>(options: Options): Promise<Data> {
  for (;;) {
    const token = session.get()?.token ?? ''
    const { status, text, header } = await attempt(options, token)
    const envelope = JSON.parse(text) as { data: Data; error: string | null; message: string }
    if (status < 300) return envelope.data
    const { error, message } = envelope
    if (error !== 'not authenticated') {
      throw new Problem(`${error}`, message, status, header('x-request-id'), header('retry-after'))
    }
    await renewed(token).catch(() => {
      throw new Problem('logged out', '')
    })
  }
}

function attempt({ path, body, idempotencyKey, onProgress, signal }: Options, token: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', base + path)
    request.setRequestHeader('authorization', `Bearer ${token}`)
    request.setRequestHeader('content-type', 'application/octet-stream')
    request.setRequestHeader('idempotency-key', idempotencyKey)
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 0 : loaded / total)
    request.onload = () =>
      resolve({ status: request.status, text: request.responseText, header: (name) => request.getResponseHeader(name) })
    request.onerror = () => reject(new Problem('unreachable', ''))
    request.onabort = () => reject(new Problem('aborted', ''))
    signal.addEventListener('abort', () => request.abort(), { once: true })
    request.send(body)
  })
}
