/** Writes a request for every operation of a running demo panel, out of its document, in the form that sqlmap reads. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { exampleBody, fillPath, type Operation, operationsOf } from '../../test/harness/operations.ts'

/** What would end the session that asks, or take away what the other requests are about. */
const LEFT_OUT = /^(logout|endSession|endUserSessions|delete\w+|changeUser|changePassword)$/

const [origin = '', directory = '', target = ''] = process.argv.slice(2)

async function login(): Promise<string> {
  const password = readFileSync(join(directory, 'data/initial-admin-password'), 'utf8').trim()
  const response = await fetch(`${origin}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'admin@localhost', password }),
  })
  const { data } = (await response.json()) as { data: { token: string } }
  return data.token
}

/** Every parameter with a value that is good, so that what sqlmap adds to it is what is tried. */
function write(operation: Operation, token: string): void {
  const query = operation.parameters
    .filter((parameter) => parameter.in === 'query')
    .map(({ name, schema }) => `${name}=${schema.enum?.[0] ?? schema.examples?.[0] ?? 1}`)
    .join('&')
  const body = exampleBody(operation)
  const path = fillPath(operation.path, operation.path.includes('{') ? '1*' : 1)
  const lines = [
    `${operation.method} ${path}${query === '' ? '' : `?${query}`} HTTP/1.1`,
    `Host: ${new URL(origin).host}`,
    ...(operation.isOpen ? [] : [`Authorization: Bearer ${token}`]),
    ...(body ? ['Content-Type: application/json', '', JSON.stringify(body)] : ['', '']),
  ]
  writeFileSync(join(target, `${operation.id}.txt`), lines.join('\r\n'))
}

const token = await login()
const operations = (await operationsOf({ origin })).filter(
  ({ id, body, parameters }) => !LEFT_OUT.test(id) && (body !== undefined || parameters.length > 0),
)
mkdirSync(target, { recursive: true })
for (const operation of operations) write(operation, token)
process.stdout.write(`${operations.length} requests\n`)
