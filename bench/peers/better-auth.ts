/** A peer: better-auth with its API-key plugin and its limiter, on Bun's SQLite. */
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { apiKey } from '@better-auth/api-key'
import { betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'

const [port, directory = ''] = process.argv.slice(2)
const panel = new Database(join(directory, 'ncp.db'), { readonly: true })
const sitesOf = panel.prepare<{ created_at: number; updated_at: number }, [number]>(
  `SELECT s.id, s.subscription_id, d.domain, s.document_root, s.kind, s.observed AS status, s.created_at, s.updated_at
   FROM subscriptions b JOIN sites s ON s.subscription_id = b.id JOIN site_domains d ON d.site_id = s.id AND d.position = 0
   WHERE b.user_id = ? AND b.is_default = 1 ORDER BY s.id LIMIT 100`,
)
const options = {
  baseURL: `http://127.0.0.1:${port}`,
  secret: 'x'.repeat(64),
  database: new Database(join(directory, 'auth.db')),
  emailAndPassword: { enabled: true },
  telemetry: { enabled: false },
  plugins: [apiKey({ rateLimit: { enabled: true, maxRequests: 1e9, timeWindow: 60_000 } })],
}
await (await getMigrations(options)).runMigrations()
const auth = betterAuth(options)
const { user } = await auth.api.signUpEmail({
  body: { email: 'user1@example.com', password: 'correct horse battery', name: 'User' },
})
const { key } = await auth.api.createApiKey({ body: { name: 'Bench', userId: user.id } })
const iso = (ms: number) => new Date(ms).toISOString()

Bun.serve({
  port: Number(port),
  hostname: '127.0.0.1',
  development: false,
  async fetch(request) {
    if (request.url.endsWith('/token')) return new Response(key)
    const credential = request.headers.get('authorization')?.slice('Bearer '.length) ?? ''
    const { valid } = await auth.api.verifyApiKey({ body: { key: credential } })
    if (!valid) return Response.json({ data: null, error: 'not authenticated', message: '' }, { status: 401 })
    const data = sitesOf
      .all(1)
      .map((site) => ({ ...site, aliases: [], created_at: iso(site.created_at), updated_at: iso(site.updated_at) }))
    return Response.json({ data, error: null, message: '' })
  },
})
