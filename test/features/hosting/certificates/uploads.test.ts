/** Certificates that customers upload: what is taken, what is refused and in which words, and that each is served. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { panelItself } from '../../../../src/core/actor.ts'
import { certificateNames, certificates } from '../../../../src/db/tables.ts'
import {
  createTestAuthority,
  type LeafOptions,
  type Pem,
  rsa,
  type TestAuthority,
} from '../../../harness/certificates.ts'
import { createTestLog } from '../../../harness/log.ts'
import { usePanel } from '../../../harness/panel.ts'
import { until } from '../../../harness/until.ts'

type Name = { name: string; state: string; reason: string | null; retry_at: string | null }
type Tls = { state: string; reason: string | null; names: Name[]; not_after: string | null; issuer: string | null }
type Site = { id: number; urls: string[]; tls: Tls }

const DAY_MS = 86_400_000

const log = createTestLog()
const panel = await usePanel({ sitesPort: 0, sitesTlsPort: 0 }, log)
const ada = await panel.customer()
const bob = await panel.customer()
const subscription = await panel.subscription(ada.id)
/** Outlives a test that moves the clock. */
const key = await panel.key(ada.token)
await panel.subscription(bob.id)

let authority: TestAuthority
beforeAll(async () => {
  authority = await createTestAuthority(panel.clock.now())
})

let sites = 0
async function newSite(token = ada.token, domain = `site-${++sites}.example.com`, aliases: string[] = []) {
  const { data, status } = await panel.post<Site>('/sites', token, { domain, aliases })
  expect(status).toBe(201)
  return { ...data, domain, path: `/sites/${data.id}/certificate` }
}
const show = async (id: number) => (await panel.get<Site>(`/sites/${id}`, key)).data
const untilState = (id: number, state: string) =>
  until(`state ${state} of site ${id}`, async () => {
    const site = await show(id)
    return site.tls.state === state && site
  })

/** @returns the fingerprint of what is shown for a name */
const shown = (servername: string) =>
  new Promise<string>((resolve, reject) => {
    const socket = connect(
      { host: '127.0.0.1', port: panel.sitesTlsPort, servername, rejectUnauthorized: false },
      () => {
        resolve(socket.getPeerCertificate().fingerprint256)
        socket.destroy()
      },
    )
    socket.on('error', reject)
  })
const statusOf = (name: string) =>
  new Promise<number>((resolve, reject) => {
    const options = { host: '127.0.0.1', port: panel.sitesTlsPort, servername: name, headers: { host: name } }
    const sent = request({ ...options, agent: false, rejectUnauthorized: false }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    sent.on('error', reject)
    sent.end()
  })
const fingerprintOf = ({ certificate }: Pem) => new X509Certificate(certificate).fingerprint256

describe('an uploaded certificate', () => {
  test('is served under the names that it covers, with its authority, and shown with its end', async () => {
    const site = await newSite(ada.token, 'shop.example.com', ['www.shop.example.com', 'deep.www.shop.example.com'])
    const to = Math.trunc(panel.clock.now() / 1000) * 1000 + 30 * DAY_MS
    const made = await authority.issue({ names: ['*.shop.example.com', 'shop.example.com'], to })
    const body = { ...made, certificate: made.certificate + authority.pem }
    const answer = await panel.post<Tls>(site.path, ada.token, body)
    expect(answer).toMatchObject({ status: 201, message: 'Certificate uploaded' })
    expect(answer.data.names.map(({ state }) => state)).toEqual(['ordering', 'ordering', 'none'])

    const { tls, urls } = await untilState(site.id, 'active')
    expect(tls).toMatchObject({ issuer: 'Test Authority', not_after: new Date(to).toISOString() })
    expect(urls.map((url) => url.split(':')[0])).toEqual(['https', 'https', 'http'])
    for (const name of ['shop.example.com', 'www.shop.example.com']) {
      expect(await shown(name)).toBe(fingerprintOf(made))
      expect(await statusOf(name)).toBe(200)
      expect((await panel.site(name)).status).toBe(301)
    }
    // A wildcard stands for one label.
    expect(await statusOf('deep.www.shop.example.com')).toBe(421)
    expect((await panel.site('deep.www.shop.example.com')).status).toBe(200)
  })

  test.each<[string, LeafOptions]>([
    ['RSA with 2048 bits', { algorithm: rsa(2048) }],
    ['ECDSA on P-384', { algorithm: { name: 'ECDSA', namedCurve: 'P-384' } }],
  ])('can have a key of %s', async (_, options) => {
    const site = await newSite()
    const made = await authority.issue({ names: [site.domain], ...options })
    expect((await panel.post(site.path, ada.token, made)).status).toBe(201)
    await untilState(site.id, 'active')
    expect(await shown(site.domain)).toBe(fingerprintOf(made))
  })

  test('replaces the one before, and is replaced by none when it is removed', async () => {
    const site = await newSite()
    for (let turn = 0; turn < 2; turn++) {
      const made = await authority.issue({ names: [site.domain] })
      expect((await panel.post(site.path, ada.token, made)).status).toBe(201)
      await until('it is served', async () => (await shown(site.domain)) === fingerprintOf(made))
    }
    const rows = await panel.services.store.read.select().from(certificates)
    expect(rows.filter(({ siteId }) => siteId === site.id)).toHaveLength(1)

    const removed = await panel.delete(site.path, ada.token)
    expect(removed).toMatchObject({ status: 200, message: 'Certificate removed', data: { state: 'none' } })
    await until('it is served no more', async () => (await statusOf(site.domain)) === 421)
    expect((await panel.site(site.domain)).status).toBe(200)
    expect((await panel.delete(site.path, ada.token)).status).toBe(404)
  })

  test('is expired once its end has come, and no longer redirected to', async () => {
    const site = await newSite()
    const made = await authority.issue({ names: [site.domain], to: panel.clock.now() + DAY_MS })
    await panel.post(site.path, ada.token, made)
    await untilState(site.id, 'active')
    expect((await panel.site(site.domain)).status).toBe(301)
    panel.clock.jump(86_400 + 1)
    await panel.services.certificates.seeToDue()
    expect((await show(site.id)).tls).toMatchObject({ state: 'expired' })
    expect((await panel.site(site.domain)).status).toBe(200)
    panel.clock.jump(-86_401)
  })

  test('has its key sealed: it is in no answer, no row, no file and no log', async () => {
    const site = await newSite()
    const made = await authority.issue({ names: [site.domain] })
    const answers = [
      await panel.send('POST', site.path, { as: ada.token, body: made, headers: { 'idempotency-key': 'upload-1' } }),
      await panel.send('POST', site.path, { as: ada.token, body: made, headers: { 'idempotency-key': 'upload-1' } }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([201, 201])
    await untilState(site.id, 'active')
    answers.push(await panel.get(`/sites/${site.id}`, ada.token))
    answers.push(await panel.get(`/sites/${site.id}/events?limit=1000`, ada.token))
    answers.push(await panel.get('/audit-log', ada.token))
    const lines = made.private_key.split('\n').filter((line) => line.length > 40)
    const { d = '' } = createPrivateKey(made.private_key).export({ format: 'jwk' })
    const secrets = [...lines, d, Buffer.from(d, 'base64url').toString('hex')]
    expect(secrets.length).toBeGreaterThan(3)
    const files = readdirSync(panel.data, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    const seen = [
      JSON.stringify(answers),
      log.text(),
      ...files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1')),
    ]
    for (const secret of secrets) for (const text of seen) expect(text).not.toContain(secret)
  })

  test('is written down in the audit log and the events of the site', async () => {
    const site = await newSite()
    const made = await authority.issue({ names: [site.domain] })
    await panel.post(site.path, ada.token, made)
    await untilState(site.id, 'active')
    await panel.delete(site.path, ada.token)
    type Entry = { action?: string; kind?: string; details: { names?: string[]; site_id?: number } }
    const audit = (await panel.get<Entry[]>('/audit-log?limit=1000', ada.token)).data
    const actions = audit.filter(({ details }) => details.site_id === site.id).map(({ action }) => action)
    expect(actions.toSorted()).toEqual(['certificate.delete', 'certificate.upload'])
    const events = (await panel.get<Entry[]>(`/sites/${site.id}/events?limit=1000`, ada.token)).data
    const kinds = events.map(({ kind }) => kind).filter((kind) => kind?.startsWith('certificate.'))
    expect(kinds).toEqual(['certificate.uploaded', 'certificate.active', 'certificate.deleted'])
  })
})

describe('is refused, with the reason:', () => {
  const at = (days: number) => panel.clock.now() + days * DAY_MS
  const day = (days: number) => new Date(at(days)).toISOString().slice(0, 10)
  const encrypted = (pem: string) =>
    createPrivateKey(pem).export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' }).toString()

  test.each<[string, LeafOptions, (made: Pem, other: Pem) => Partial<Pem>, () => string]>([
    [
      'another key',
      {},
      (_, other) => ({ private_key: other.private_key }),
      () => 'private_key: is not the key of the certificate',
    ],
    [
      'other names',
      { names: ['other.example.org'] },
      () => ({}),
      () => 'certificate: is for other.example.org, and this site has none of these names',
    ],
    [
      'a wildcard elsewhere',
      { names: ['*.example.org'] },
      () => ({}),
      () => 'certificate: is for *.example.org, and this site has none of these names',
    ],
    ['no names', { names: [] }, () => ({}), () => 'certificate: names no domain (subjectAltName)'],
    ['one that has expired', { from: at(-9), to: at(-1) }, () => ({}), () => `certificate: has expired on ${day(-1)}`],
    ['one of the future', { from: at(2) }, () => ({}), () => `certificate: is not valid before ${day(2)}`],
    [
      'a weak key',
      { algorithm: rsa(1024) },
      () => ({}),
      () => 'certificate: has a key that must be RSA with 2048 to 4096 bits, or ECDSA on P-256 or P-384',
    ],
    ['one for clients', { isForClients: true }, () => ({}), () => 'certificate: is not for servers'],
    [
      'one of an authority',
      { isAuthority: true },
      () => ({}),
      () => 'certificate: begins with that of an authority; send the one of the site first',
    ],
    [
      'a key as certificate',
      {},
      ({ private_key }) => ({ certificate: private_key }),
      () => 'certificate: contains a private key; send that as private_key',
    ],
    [
      'both in one field',
      {},
      ({ certificate, private_key }) => ({ certificate: certificate + private_key }),
      () => 'certificate: contains a private key; send that as private_key',
    ],
    [
      'a certificate as key',
      {},
      ({ certificate }) => ({ private_key: certificate }),
      () => 'private_key: must be a private key in PEM',
    ],
    [
      'a key with a passphrase',
      {},
      ({ private_key }) => ({ private_key: encrypted(private_key) }),
      () => 'private_key: is protected by a passphrase; remove it: openssl pkey -in FILE -out NEW',
    ],
    [
      'half a key',
      {},
      ({ private_key }) => ({ private_key: private_key.slice(0, 90) }),
      () => 'private_key: cannot be read; it must be a private key in PEM',
    ],
    ['no PEM', {}, () => ({ certificate: 'hello' }), () => 'certificate: must contain a certificate in PEM'],
    [
      'a damaged one',
      {},
      ({ certificate }) => ({ certificate: certificate.replace(/\n[^-\n]{20}/, '\nAAAAAAAAAAAAAAAAAAAA') }),
      () => 'certificate: certificate 1 cannot be read',
    ],
    [
      'a chain out of order',
      {},
      (made, other) => ({ certificate: made.certificate + other.certificate }),
      () =>
        "certificate: certificate 2 did not issue the one before it: send the site's own first, then each authority",
    ],
    [
      'eleven',
      {},
      ({ certificate }) => ({ certificate: certificate.repeat(11) }),
      () => 'certificate: must contain at most 10 certificates',
    ],
    ['an empty key', {}, () => ({ private_key: '' }), () => 'private_key: must be 1 to 8000 characters'],
    [
      'a large chain',
      {},
      () => ({ certificate: 'x'.repeat(48_001) }),
      () => 'certificate: must be 1 to 48000 characters',
    ],
  ])('%s', async (_, options, change, message) => {
    const site = await newSite()
    const made = await authority.issue({ names: [site.domain], ...options })
    const other = await authority.issue({ names: [site.domain] })
    const answer = await panel.post(site.path, ada.token, { ...made, ...change(made, other) })
    expect([answer.status, answer.message]).toEqual([422, message()])
    expect((await show(site.id)).tls.state).toBe('none')
  })

  test('fields that are missing, of another type, or unknown', async () => {
    const site = await newSite()
    const made = await authority.issue({ names: [site.domain] })
    const { certificate } = made
    const bodies = [
      {},
      { certificate },
      { ...made, private_key: 7 },
      { ...made, private_key: null },
      { ...made, chain: '' },
    ]
    const statuses = await Promise.all(
      bodies.map(async (body) => (await panel.post(site.path, ada.token, body)).status),
    )
    expect(statuses).toEqual([400, 400, 400, 400, 422])
  })

  test('one that is good for the site of another customer too, except from an administrator', async () => {
    const theirs = await newSite(bob.token, 'bob.shared.example.net')
    expect((await panel.post('/sites', ada.token, { domain: 'ada.shared.example.net' })).status).toBe(201)
    const [own] = (await panel.get<{ id: number }[]>('/sites?domain=ada.shared', ada.token)).data
    const path = `/sites/${own?.id}/certificate`
    for (const names of [['*.shared.example.net'], ['ada.shared.example.net', 'bob.shared.example.net']]) {
      const made = await authority.issue({ names })
      const answer = await panel.post(path, ada.token, made)
      expect(answer.status).toBe(409)
      expect(answer.message).toBe(
        `certificate: ${names.at(-1)} is good for a site of another customer; ask your provider`,
      )
      expect((await panel.post(path, await panel.admin(), made)).status).toBe(201)
    }
    expect(theirs.id).toBeGreaterThan(0)
  })

  test('by rights: no credential, another customer, a key without the scope, a suspended subscription', async () => {
    const site = await newSite()
    const made = await authority.issue({ names: [site.domain] })
    const reading = await panel.key(ada.token, { scopes: ['sites:read', 'sites:write'] })
    const writing = await panel.key(ada.token, { scopes: ['certificates:write'] })
    const calls = (as: string | undefined) => [
      panel.send('POST', site.path, { ...(as && { as }), body: made }),
      panel.send('DELETE', site.path, { ...(as && { as }) }),
      panel.send('POST', `${site.path}/retry`, { ...(as && { as }) }),
    ]
    const statuses = async (as?: string) => Promise.all(calls(as).map(async (call) => (await call).status))
    expect(await statuses()).toEqual([401, 401, 401])
    expect(await statuses(bob.token)).toEqual([403, 403, 403])
    expect(await statuses(reading)).toEqual([403, 403, 403])
    expect((await panel.post(`/sites/${site.id + 999}/certificate`, ada.token, made)).status).toBe(404)
    expect((await panel.post(site.path, writing, made)).status).toBe(201)

    const admin = await panel.admin()
    await panel.patch(`/admin/subscriptions/${subscription}`, admin, { status: 'suspended' })
    expect(await statuses(ada.token)).toEqual([409, 409, 409])
    await panel.patch(`/admin/subscriptions/${subscription}`, admin, { status: 'active' })
  })
})

describe('where nothing is ordered', () => {
  test('the site says so, and so does a request for another try', async () => {
    const site = await newSite()
    expect((await show(site.id)).tls).toMatchObject({
      state: 'none',
      reason:
        'This server orders no certificates; its operator can switch that on with NCP_ACME_EMAIL, or you can upload one',
    })
    const answer = await panel.post(`${site.path}/retry`, ada.token)
    expect([answer.status, answer.message]).toEqual([409, expect.stringContaining('orders no certificates')])
  })

  test('what failed for a name is forgotten when nobody has had it for a month', async () => {
    // Another panel: the clock of this one was changed.
    const { services, clock } = await usePanel()
    // By then its clock is believed.
    clock.advance(86_400)
    const { store, writeAs, tasks } = services
    const row = { state: 'failed' as const, reason: 'x', failures: 3, attemptedAt: 0 }
    const old = clock.now() - 40 * DAY_MS
    await writeAs(panelItself, (tx) =>
      tx.insert(certificateNames).values([
        { ...row, name: 'old.example.org', retryAt: old },
        { ...row, name: 'new.example.org', retryAt: old + 20 * DAY_MS },
      ]),
    )
    await tasks.find(({ failure }) => failure.includes('failures of names'))?.run(AbortSignal.timeout(1000))
    const left = await store.read.select().from(certificateNames)
    expect(left.map(({ name }) => name)).toEqual(['new.example.org'])
  })

  test('without HTTPS for sites nothing is taken', async () => {
    const plain = await usePanel({ sitesPort: 0 })
    const customer = await plain.customer()
    await plain.subscription(customer.id)
    const { data } = await plain.post<Site>('/sites', customer.token, { domain: 'plain.example.com' })
    expect(data.tls).toMatchObject({ state: 'none', names: [], reason: expect.stringContaining('NCP_SITES_TLS_PORT') })
    const made = await authority.issue({ names: ['plain.example.com'] })
    const answer = await plain.post(`/sites/${data.id}/certificate`, customer.token, made)
    expect([answer.status, answer.message]).toEqual([409, expect.stringContaining('NCP_SITES_TLS_PORT')])
  })
})
