/** A peer: Directus on SQLite, with a static token and its limiter. Half a gigabyte, so it takes part only where it is installed. */
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const [token, port, directory] = process.argv.slice(2)
const origin = `http://127.0.0.1:${port}`
const command = join(dirname(createRequire(import.meta.url).resolve('directus/package.json')), 'cli.js')
for (const folder of ['uploads', 'extensions']) mkdirSync(join(directory, folder), { recursive: true })
Object.assign(process.env, {
  DB_CLIENT: 'sqlite3',
  DB_FILENAME: join(directory, 'directus.db'),
  SECRET: 'x'.repeat(64),
  ADMIN_EMAIL: 'user1@example.com',
  ADMIN_PASSWORD: 'correct horse battery',
  ADMIN_TOKEN: token,
  HOST: '127.0.0.1',
  PORT: port,
  PUBLIC_URL: origin,
  RATE_LIMITER_ENABLED: 'true',
  RATE_LIMITER_POINTS: '1000000000',
  RATE_LIMITER_DURATION: '60',
  STORAGE_LOCAL_ROOT: join(directory, 'uploads'),
  EXTENSIONS_PATH: join(directory, 'extensions'),
  PRESSURE_LIMITER_ENABLED: 'false',
  LOG_LEVEL: 'error',
  TELEMETRY: 'false',
})
const { status } = spawnSync(process.execPath, [command, 'bootstrap'], { stdio: 'inherit' })
if (status !== 0) throw new Error(`directus bootstrap ended with ${status}`)

process.argv = [process.argv[0], command, 'start']
await import(command)
while (!(await fetch(`${origin}/server/ping`).catch(() => undefined))?.ok) await sleep(100)

const fields = ['domain', 'document_root', 'php_version', 'status', 'created_at', 'updated_at']
await post('/collections', {
  collection: 'sites',
  meta: {},
  schema: {},
  fields: [
    {
      field: 'id',
      type: 'integer',
      meta: { hidden: true },
      schema: { is_primary_key: true, has_auto_increment: true },
    },
    ...fields.map((field) => ({ field, type: 'string', meta: {}, schema: {} })),
  ],
})
const site = Object.fromEntries(fields.map((field) => [field, `${field} of a site`]))
await post(
  '/items/sites',
  Array.from({ length: 5 }, () => site),
)

async function post(path, body) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const response = await fetch(origin + path, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`)
}
