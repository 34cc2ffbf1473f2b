/** Sends requests with the credential of the session, conditionally where an answer is known, and again after a new login. */
import { renewed } from '../session/renewal.ts'
import { session } from '../session/session.ts'
import { Problem } from './problem.ts'

type Known = { etag: string; response: Response }

/** What was read, by URL: the API sends `no-store`, so the browser keeps nothing. */
const known = new Map<string, Known>()
const MAX_KNOWN = 100

session.subscribe(() => known.clear())

/** As `fetch`. @throws Problem if there is no answer, or if the user leaves instead of logging in again */
export async function send(request: Request): Promise<Response> {
  for (;;) {
    const token = session.get()?.token
    const response = await attempt(request.clone(), token)
    if (token === undefined || !(await isRefused(response))) return response
    await renewed(token).catch(() => {
      throw new Problem('logged out', '')
    })
  }
}

async function attempt(request: Request, token: string | undefined): Promise<Response> {
  if (token !== undefined) request.headers.set('authorization', `Bearer ${token}`)
  const earlier = request.method === 'GET' ? known.get(request.url) : undefined
  if (earlier) request.headers.set('if-none-match', earlier.etag)
  const response = await fetch(request).catch(() => {
    throw new Problem('unreachable', '')
  })
  if (response.status === 304 && earlier) return earlier.response.clone()
  if (request.method === 'GET' && response.ok) remember(request.url, response)
  return response
}

function remember(url: string, response: Response): void {
  const etag = response.headers.get('etag')
  if (etag === null) return
  known.delete(url)
  known.set(url, { etag, response: response.clone() })
  const [oldest] = known.keys()
  if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest)
}

/** Whether the credential is no longer good; other reasons for 401 are about what was typed. */
export async function isRefused(response: Response): Promise<boolean> {
  if (response.status !== 401) return false
  const { error } = (await response.clone().json()) as { error: string }
  return error === 'not authenticated'
}
