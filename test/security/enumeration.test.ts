/** Neither the text of a response nor its cost reveals whether an account exists, or its state. */
import { Database } from 'bun:sqlite'
import { beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { failuresOf, setFailures } from '../harness/database.ts'
import { PASSWORD, usePanel } from '../harness/panel.ts'

const panel = await usePanel()
const ada = await panel.customer()
const disabled = await panel.customer()
const closed = await panel.customer()
beforeAll(async () => {
  await panel.patch(`/admin/users/${disabled.id}`, await panel.admin(), { status: 'disabled' })
  setFailures(panel, closed.id, 20)
})

/** Every failure that is counted anywhere, of which each attempt adds one, in a commit that takes its time. */
function counted(): number {
  using database = new Database(join(panel.data, 'ncp.db'), { readonly: true })
  const strangers = database.query<{ n: number }, []>('SELECT failed_attempts AS n FROM strangers').get()?.n ?? 0
  return [ada, disabled, closed].reduce((sum, { id }) => sum + failuresOf(panel, id), strangers)
}

/**
 * @see CVE-2022-44022, GHSA-6f65-4fv2-wwch, GHSA-jq8w-8q2f-ffm9, keycloak#51887: an account showed in the time of an answer
 */
test('each kind of login costs one hash and one write, and has the same response', async () => {
  const kinds: [string, string, string][] = [
    ['an unknown address', 'nobody@example.com', PASSWORD],
    ['a wrong password', ada.email, 'wrong password'],
    ['an empty password', ada.email, ''],
    ['a disabled user', disabled.email, PASSWORD],
    ['an account that is throttled for its failures', closed.email, PASSWORD],
  ]
  for (const [kind, email, password] of kinds) {
    const before = { hashes: panel.services.passwords.hashed, writes: counted() }
    const answer = await panel.send('POST', '/auth/login', { body: { email, password }, from: '198.51.100.200' })
    const hashes = panel.services.passwords.hashed - before.hashes
    expect({ kind, hashes, writes: counted() - before.writes }).toEqual({ kind, hashes: 1, writes: 1 })
    const { status, data, error, message } = answer
    expect({ status, data, error, message }).toEqual({
      status: 401,
      data: null,
      error: 'invalid credentials',
      message: 'Unknown email or wrong password',
    })
  }
})
