/** A client of the panel that waits when it is told to. */
import { setTimeout as sleep } from 'node:timers/promises'
import createClient, { type Middleware } from 'openapi-fetch'
import type { paths } from './ncp.js'

export type Client = ReturnType<typeof connect>

/**
 * @param url the panel's address, such as https://localhost:3443
 * @param key an API key
 */
export function connect(url: string, key: string) {
  const client = createClient<paths>({
    baseUrl: url,
    headers: { authorization: `Bearer ${key}` },
    fetch: fetchPatiently,
  })
  client.use(failures)
  return client
}

/** Sends a request again once the panel takes it: 429 and 503 say after how many seconds. */
async function fetchPatiently(request: Request): Promise<Response> {
  for (;;) {
    const response = await fetch(request.clone())
    const seconds = Number(response.headers.get('retry-after') ?? 0)
    if (seconds === 0) return response
    await response.body?.cancel()
    await sleep(seconds * 1000)
  }
}

/** Makes any other error an exception, with the panel's own words. */
const failures: Middleware = {
  async onResponse({ response }) {
    if (response.ok) return
    const { error, message } = (await response.json()) as { error: string; message: string }
    throw new Error(`${error}: ${message}`)
  },
}

/** All of a list that comes in pages. */
export async function* allSites(client: Client, subscriptionId?: number) {
  let cursor: string | undefined
  do {
    const query = {
      limit: 1000,
      ...(cursor !== undefined && { cursor }),
      ...(subscriptionId !== undefined && { subscription_id: subscriptionId }),
    }
    const { data, response } = await client.GET('/api/v1/sites', { params: { query } })
    yield* data?.data ?? []
    const next = /^<([^>]+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1]
    cursor = next && (new URL(next, response.url).searchParams.get('cursor') ?? undefined)
  } while (cursor)
}
