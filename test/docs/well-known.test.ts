/** What is looked for at fixed places: a contact for finders of holes, and the page where a password is changed. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Panel, startPanel } from '../harness/panel.ts'

let bare: Panel
let panel: Panel
beforeAll(async () => {
  bare = await startPanel()
  panel = await startPanel({ securityContact: 'mailto:security@example.com', publicUrl: 'https://example.com/app' })
})
afterAll(() => Promise.all([bare.stop(), panel.stop()]))

const get = (path: string, { origin } = panel) => fetch(`${origin}${path}`, { redirect: 'manual' })

test('security.txt names the configured contact, and is always valid for a month', async () => {
  const response = await get('/.well-known/security.txt')
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8'])
  const lines = (await response.text()).split('\n')
  expect(lines).toEqual(['Contact: mailto:security@example.com', expect.stringMatching(/^Expires: \S+Z$/), ''])
  const expires = () => Date.parse(lines[1]?.slice('Expires: '.length) ?? '')
  expect(expires() - panel.clock.now()).toBe(30 * 24 * 60 * 60 * 1000)
})

test('change-password redirects to the page of the frontend', async () => {
  const response = await get('/.well-known/change-password')
  expect([response.status, response.headers.get('location')]).toEqual([302, 'https://example.com/app/change-password'])
})

test('both are 404 in the envelope where nothing is configured, as is any other well-known path', async () => {
  for (const path of [
    '/.well-known/security.txt',
    '/.well-known/change-password',
    '/.well-known/openid-configuration',
    '/robots.txt',
  ]) {
    const response = await get(path, bare)
    expect([path, response.status, ((await response.json()) as { error: string }).error]).toEqual([
      path,
      404,
      'not found',
    ])
  }
})

test('they count like files of the reference, and not against a user’s limit', async () => {
  const limited = await startPanel({ limitAsset: 4, limitAnonymous: 2 })
  const asked: number[] = []
  for (const path of ['/', '/favicon.ico', '/.well-known/security.txt', '/api/docs', '/api/docs/start.js']) {
    asked.push((await get(path, limited)).status)
  }
  expect(asked).toEqual([200, 200, 404, 200, 429])
  expect((await get('/api/v1/nope', limited)).headers.get('x-ratelimit-remaining')).toBe('1')
  await limited.stop()
})
