/** Conditional requests: what a client has already is not sent again, and what it has not seen is not overwritten. */
import { describe, expect, test } from 'bun:test'
import { usePanel } from '../harness/panel.ts'

type Site = { id: number; domain: string }

const panel = await usePanel()
const ada = await panel.customer()
await panel.subscription(ada.id)
const first = (await panel.post<Site>('/sites', ada.token, { domain: 'first.example' })).data

const read = (path: string, as = ada.token) => panel.get(path, as)
const readUnless = (condition: string, path: string, as = ada.token) =>
  panel.send('GET', path, { as, headers: { 'if-none-match': condition } })

async function etagOf(path: string, as = ada.token): Promise<string> {
  return (await read(path, as)).headers.get('etag') ?? ''
}

describe('a read', () => {
  test('of every resource and list has a strong ETag, and is 304 without a body when the client’s copy is current', async () => {
    const admin = await panel.admin()
    const own = [
      '/sites',
      '/sites?limit=1',
      '/sites?limit=1000',
      `/sites/${first.id}`,
      '/subscriptions',
      '/auth/api-keys',
      '/audit-log',
    ]
    const users = ['/admin/users', `/admin/users/${ada.id}`, `/admin/users/${ada.id}/sessions`]
    const others = ['/admin/subscriptions', '/admin/subscriptions/1', '/admin/settings', '/admin/audit-log']
    for (const [path, as] of [
      ...own.map((path) => [path, ada.token] as const),
      ...[...users, ...others].map((path) => [path, admin] as const),
    ]) {
      const etag = await etagOf(path, as)
      expect([path, etag]).toEqual([path, expect.stringMatching(/^"[\x21\x23-\x7e]+"$/)])
      const again = await readUnless(etag, path, as)
      expect([path, again.status, again.headers.get('etag')]).toEqual([path, 304, etag])
    }
  })

  test.each<[string, (etag: string) => string]>([
    ['among others', (etag) => `"other", ${etag},"more"`],
    ['as *', () => '*'],
    ['as a weak one', (etag) => `W/${etag}`],
    ['with the suffix of a proxy that compresses', (etag) => etag.replace(/"$/, '-gzip"')],
    ['weakly and with a suffix, among others', (etag) => `W/"other-gzip", W/${etag.replace(/"$/, '-br"')}`],
  ])('is 304 when its ETag is sent %s', async (_, condition) => {
    expect((await readUnless(condition(await etagOf('/sites')), '/sites')).status).toBe(304)
  })

  test.each<[string, (etag: string) => string]>([
    ['another', () => '"other"'],
    ['one without its quotes', (etag) => etag.slice(1, -1)],
    ['half of one', (etag) => `${etag.slice(0, 10)}"`],
    ['nothing', () => ''],
    ['more than we read', (etag) => `${'"x",'.repeat(1000)}${etag}`],
  ])('is answered in full when %s is sent', async (_, condition) => {
    const answer = await readUnless(condition(await etagOf('/sites')), '/sites')
    expect([answer.status, (answer.data as Site[]).map(({ domain }) => domain)]).toEqual([200, ['first.example']])
  })

  test('that is 304 takes a token of the rate limit and reports what is left, like any other', async () => {
    const etag = await etagOf('/sites')
    const before = Number((await read('/sites')).headers.get('x-ratelimit-remaining'))
    const { status, headers } = await readUnless(etag, '/sites')
    expect([status, Number(headers.get('x-ratelimit-remaining'))]).toEqual([304, before - 1])
    expect(headers.get('cache-control')).toBe('no-store')
  })

  test('without a credential or the right is refused before any condition', async () => {
    const etag = await etagOf(`/sites/${first.id}`)
    expect((await panel.send('GET', '/sites', { headers: { 'if-none-match': '*' } })).status).toBe(401)
    const stranger = await panel.customer()
    expect((await readUnless(etag, `/sites/${first.id}`, stranger.token)).status).toBe(403)
    expect((await readUnless('*', '/sites/999999')).status).toBe(404)
    expect((await readUnless('*', '/admin/users')).status).toBe(403)
  })

  test('by HEAD returns the same ETag, and no body', async () => {
    const etag = await etagOf('/sites')
    const headers = { authorization: `Bearer ${ada.token}` }
    const head = await fetch(`${panel.origin}/api/v1/sites`, { method: 'HEAD', headers })
    expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, etag, ''])
    const again = await fetch(`${panel.origin}/api/v1/sites`, {
      method: 'HEAD',
      headers: { ...headers, 'if-none-match': etag },
    })
    expect([again.status, await again.text()]).toEqual([304, ''])
  })
})

describe('an ETag', () => {
  test('changes with the content, and with nothing else', async () => {
    const bob = await panel.customer()
    await panel.subscription(bob.id)
    const { data: site } = await panel.post<Site>('/sites', bob.token, { domain: 'bob.example' })
    const etags = async () => [await etagOf('/sites', bob.token), await etagOf(`/sites/${site.id}`, bob.token)]
    const [list, single] = await etags()
    // Another user's change moves the version of the database, but not what Bob reads.
    await panel.post('/sites', ada.token, { domain: 'second.example' })
    expect(await etags()).toEqual([list, single] as string[])
    panel.clock.advance(1)
    await panel.patch(`/sites/${site.id}`, bob.token, { spa: true })
    const changed = await etags()
    expect(changed[0]).not.toBe(list)
    expect(changed[1]).not.toBe(single)
    expect((await readUnless(list ?? '', '/sites', bob.token)).status).toBe(200)
  })

  test('of a page changes when another page is added after it', async () => {
    const bob = await panel.customer()
    await panel.subscription(bob.id)
    await panel.post('/sites', bob.token, { domain: 'page-1.example' })
    const path = '/sites?limit=1'
    const etag = await etagOf(path, bob.token)
    await panel.post('/sites', bob.token, { domain: 'page-2.example' })
    const answer = await readUnless(etag, path, bob.token)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('link')).toContain('rel="next"')
    const again = await readUnless(answer.headers.get('etag') ?? '', path, bob.token)
    expect([again.status, again.headers.get('link')]).toEqual([304, answer.headers.get('link')])
  })

  test('of a cached page equals that of a page read afresh', async () => {
    const [once, twice] = [await etagOf('/sites'), await etagOf('/sites')]
    await panel.customer()
    expect([twice, await etagOf('/sites')]).toEqual([once, once])
  })
})

describe('a change with If-Match', () => {
  const patch = <Data>(path: string, condition: string, body: unknown, as = ada.token) =>
    panel.send<Data>('PATCH', path, { as, body, headers: { 'if-match': condition } })
  const remove = (path: string, condition: string, as = ada.token) =>
    panel.send('DELETE', path, { as, headers: { 'if-match': condition } })

  test('succeeds on the version read, returns the new ETag, and is 412 after another change', async () => {
    const path = `/sites/${first.id}`
    const seen = await etagOf(path)
    panel.clock.advance(1)
    const changed = await patch(path, seen, { public_dir: 'a' })
    expect([changed.status, changed.headers.get('etag')]).toEqual([200, await etagOf(path)])
    const late = await patch(path, seen, { public_dir: 'b' })
    expect([late.status, late.error, late.message]).toEqual([
      412,
      'precondition failed',
      'If-Match: the resource has changed since it was read; read it again',
    ])
    expect((await panel.get(path, ada.token)).data).toEqual(changed.data)
    expect((await patch(path, changed.headers.get('etag') ?? '', { public_dir: 'b' })).status).toBe(200)
  })

  test('succeeds for one of many at once', async () => {
    const path = `/sites/${first.id}`
    const seen = await etagOf(path)
    panel.clock.advance(1)
    const directories = ['a', 'b', 'c', 'd']
    const answers = await Promise.all(directories.map((public_dir) => patch(path, seen, { public_dir })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412])
  })

  test.each<[string, number, (etag: string) => string]>([
    ['any', 200, () => '*'],
    ['one of several', 200, (etag) => `"other", ${etag}`],
    ['a weak one', 200, (etag) => `W/${etag}`],
    ['a weak one among others', 200, (etag) => `W/"other", W/${etag}`],
    ['one with the suffix of a proxy that compresses', 200, (etag) => etag.replace(/"$/, '-gzip"')],
    ['one with an older form of the suffix', 200, (etag) => etag.replace(/"$/, ';gzip"')],
    ['a weak one with a suffix', 200, (etag) => `W/${etag.replace(/"$/, '-br"')}`],
    ['one with another suffix', 412, (etag) => etag.replace(/"$/, '-other"')],
    ['two suffixes', 412, (etag) => etag.replace(/"$/, '-gzip-gzip"')],
    ['another weak one', 412, () => 'W/"other-gzip"'],
    ['a suffix alone', 412, () => '"-gzip"'],
    ['a weak one in lower case', 412, (etag) => `w/${etag}`],
    ['another', 412, () => '"other"'],
    ['none', 412, () => ''],
    ['more than we read', 412, (etag) => `${'"x",'.repeat(1000)}${etag}`],
  ])('that names %s is %i', async (_, status, condition) => {
    const path = `/sites/${first.id}`
    expect((await patch(path, condition(await etagOf(path)), { public_dir: 'c' })).status).toBe(status)
  })

  test('deletes the version read, and nothing else', async () => {
    const { data: site } = await panel.post<Site>('/sites', ada.token, { domain: 'doomed.example' })
    const path = `/sites/${site.id}`
    expect((await remove(path, '"other"')).status).toBe(412)
    expect((await remove(path, await etagOf(path))).status).toBe(200)
    expect((await remove(path, '*')).status).toBe(404)
  })

  test('works for subscriptions, users and settings as well', async () => {
    const admin = await panel.admin()
    const bob = await panel.customer()
    const subscription = await panel.subscription(bob.id)
    const changes: [path: string, as: string, body: object][] = [
      [`/subscriptions/${subscription}`, bob.token, { is_default: true }],
      [`/admin/subscriptions/${subscription}`, admin, { name: 'Renamed' }],
      [`/admin/users/${bob.id}`, admin, { name: 'Robert' }],
      ['/admin/settings', admin, { jwt_ttl_seconds: 86_400 }],
    ]
    for (const [path, as, body] of changes) {
      expect([path, (await patch(path, '"other"', body, as)).status]).toEqual([path, 412])
      const done = await patch(path, await etagOf(path, as), body, as)
      expect([path, done.status, done.headers.get('etag')]).toEqual([path, 200, await etagOf(path, as)])
    }
    expect((await remove(`/admin/users/${bob.id}`, '"other"', admin)).status).toBe(412)
    expect((await remove(`/admin/users/${bob.id}`, await etagOf(`/admin/users/${bob.id}`, admin), admin)).status).toBe(
      200,
    )
  })

  test('of a missing or another user’s resource is refused as without', async () => {
    const stranger = await panel.customer()
    expect((await patch('/sites/999999', '"x"', { status: 'active' })).status).toBe(404)
    expect((await patch(`/sites/${first.id}`, '"x"', { status: 'active' }, stranger.token)).status).toBe(403)
    expect((await patch(`/sites/${first.id}`, '"x"', { public_dir: '/' })).status).toBe(422)
  })
})
