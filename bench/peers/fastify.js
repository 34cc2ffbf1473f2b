/** A peer: Fastify with its own plugins for JWTs and rate limits, and better-sqlite3, all statements prepared. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import fastifyJwt from '@fastify/jwt'
import fastifyRateLimit from '@fastify/rate-limit'
import Database from 'better-sqlite3'
import Fastify from 'fastify'

const [port, directory] = process.argv.slice(2)
const db = new Database(join(directory, 'ncp.db'))
db.pragma('journal_mode = WAL')
const userOfKey = db.prepare(
  `SELECT u.id, u.role, k.expires_at FROM api_keys k JOIN users u ON u.id = k.user_id
   WHERE k.key_hash = ? AND u.status = 'active'`,
)
const userById = db.prepare(`SELECT id, role FROM users WHERE id = ? AND status = 'active'`)
const sitesOf = db.prepare(
  `SELECT s.id, s.subscription_id, d.domain, s.document_root, s.kind, s.observed AS status, s.created_at, s.updated_at
   FROM subscriptions b JOIN sites s ON s.subscription_id = b.id JOIN site_domains d ON d.site_id = s.id AND d.position = 0
   WHERE b.user_id = ? AND b.is_default = 1 ORDER BY s.id LIMIT 100`,
)

const app = Fastify({ logger: false })
await app.register(fastifyJwt, { secret: 'x'.repeat(64) })
await app.register(fastifyRateLimit, {
  global: true,
  hook: 'preHandler',
  max: 1e9,
  timeWindow: 60_000,
  keyGenerator: (request) => request.caller?.id ?? request.ip,
})

async function authenticate(request, reply) {
  const credential = request.headers.authorization?.slice('Bearer '.length) ?? ''
  if (credential.startsWith('ncp_')) {
    request.caller = userOfKey.get(createHash('sha256').update(credential).digest('hex'))
  } else {
    const { sub } = await request.jwtVerify()
    request.caller = userById.get(Number(sub))
  }
  if (!request.caller) return reply.code(401).send({ data: null, error: 'not authenticated', message: '' })
}

const iso = (ms) => new Date(ms).toISOString()
app.get('/token', { config: { rateLimit: false } }, () => app.jwt.sign({ sub: '1' }, { expiresIn: '1d' }))
app.get('/api/v1/sites', { onRequest: authenticate }, (request) => ({
  data: sitesOf
    .all(request.caller.id)
    .map((site) => ({ ...site, aliases: [], created_at: iso(site.created_at), updated_at: iso(site.updated_at) })),
  error: null,
  message: '',
}))
await app.listen({ port: Number(port), host: '127.0.0.1' })
