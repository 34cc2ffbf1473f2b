/** Domain names: what is taken, what it becomes, and what is none. */
import { describe, expect, test } from 'bun:test'
import { usePanel } from '../../../harness/panel.ts'

type Site = { id: number; domain: string; aliases: string[] }

const RULE = 'must be a full domain name, such as www.example.com'

const panel = await usePanel()
const ada = await panel.customer()
await panel.subscription(ada.id)

const create = (body: unknown, as = ada.token) => panel.post<Site>('/sites', as, body)
const count = async () => (await panel.get<Site[]>('/sites?limit=1000', ada.token)).data.length

describe('a domain', () => {
  test.each([
    ['lower.example', 'lower.example'],
    ['WWW.Upper.Example', 'www.upper.example'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['KÄSE.Example', 'xn--kse-qla.example'],
    ['xn--mnchen-3ya.example', 'xn--mnchen-3ya.example'],
    ['XN--TDA.example', 'xn--tda.example'],
    ['例え.テスト', 'xn--r8jz45g.xn--zckzah'],
    // The ideographic full stop is a dot (UTS #46).
    ['例。example', 'xn--fsq.example'],
    ['fullｗidth.example', 'fullwidth.example'],
    ['straße.example', 'xn--strae-oqa.example'],
    ['\u{1f4a9}.example', 'xn--ls8h.example'],
    ['1and1.example', '1and1.example'],
    ['123.example', '123.example'],
    ['inner-hyphen.example', 'inner-hyphen.example'],
    ['two--hyphens.example', 'two--hyphens.example'],
    ['x.c0m', 'x.c0m'],
    [`${'l'.repeat(63)}.example`, `${'l'.repeat(63)}.example`],
    // 253 characters, the longest there is.
    [`${'a.'.repeat(126)}a`, `${'a.'.repeat(126)}a`],
  ])('%s is stored as %s', async (domain, kept) => {
    const { status, data } = await create({ domain })
    expect([status, data.domain]).toEqual([201, kept])
    expect((await panel.get<Site>(`/sites/${data.id}`, ada.token)).data.domain).toBe(kept)
  })

  const refused: [string, string][] = [
    ['a single label', 'localhost'],
    ['a trailing dot', 'example.com.'],
    ['a leading dot', '.example.com'],
    ['an empty label', 'a..example'],
    ['only a dot', '.'],
    ['an IPv4 address', '192.0.2.1'],
    ['an IPv4 address in full-width digits', '１９２.0.2.1'],
    ['an IPv4 address in hexadecimal', '0x7f.0.0.1'],
    ['a short IPv4 address', '127.1'],
    ['a last label of digits', 'example.123'],
    ['a last label of hexadecimal', 'example.0x1'],
    ['an IPv6 address', '2001:db8::1'],
    ['an IPv6 address in brackets', '[2001:db8::1]'],
    ['an underscore', 'my_site.example'],
    ['a wildcard', '*.example.com'],
    ['a percent-encoded dot', 'a%2eexample'],
    ['a percent-encoded letter', '%61.example'],
    ['a full-width percent sign', '％61.example'],
    ['a space inside', 'my site.example'],
    ['a space before', ' example.com'],
    ['a space after', 'example.com '],
    ['a line break', 'example.com\n'],
    ['a NUL', 'example.com\0'],
    ['half a surrogate pair', '\ud83d.example'],
    ['a port', 'example.com:80'],
    ['a scheme', 'https://example.com'],
    ['a path', 'example.com/x'],
    ['a way up', '../../etc.example'],
    ['a backslash', 'a\\b.example'],
    ['a user', 'ada@example.com'],
    ['a question mark', 'a?b.example'],
    ['a quote', "a'b.example"],
    ['a double quote', 'a"b.example'],
    ['a semicolon', 'a;b.example'],
    ['a brace', 'a}b.example'],
    ['a dollar sign', '$host.example'],
    ['two dots', 'a..b.example'],
    ['a hyphen at the start', '-a.example'],
    ['a hyphen at the end', 'a-.example'],
    ['a hyphen at the start of the last label', 'a.-example'],
    ['a hyphen at the end of the last label', 'a.example-'],
    ['a label of 64 characters', `${'l'.repeat(64)}.example`],
    ['a label that is too long in punycode', `${'ü'.repeat(60)}.example`],
    ['254 characters in punycode', `ü${'.abcdefgh'.repeat(27)}.xyz`],
    ['punycode that decodes to nothing', 'xn--.example'],
    ['invalid punycode', 'xn--a.example'],
    ['a zero-width joiner', 'a\u200db.example'],
  ]

  test.each(refused)('with %s is refused, and nothing is stored', async (_, domain) => {
    const before = await count()
    const answer = await create({ domain })
    expect([answer.status, answer.error, answer.message]).toEqual([422, 'validation error', `domain: ${RULE}`])
    const asAlias = await create({ domain: 'fine.example', aliases: ['fine-too.example', domain] })
    expect([asAlias.status, asAlias.message]).toEqual([422, `aliases.1: ${RULE}`])
    expect(await count()).toBe(before)
  })

  test.each([
    ['empty', ''],
    ['of 254 characters', `${'a.'.repeat(126)}aa`],
  ])('that is %s is refused for its length', async (_, domain) => {
    const answer = await create({ domain })
    expect([answer.status, answer.message]).toEqual([422, 'domain: must be 1 to 253 characters'])
    const asAlias = await create({ domain: 'fine.example', aliases: [domain] })
    expect([asAlias.status, asAlias.message]).toEqual([422, 'aliases.0: must be 1 to 253 characters'])
  })

  test('obeys the same rules on a change, and otherwise stays as it was', async () => {
    const { data: site } = await create({ domain: 'steady.example', aliases: ['steady-too.example'] })
    for (const [, domain] of refused) {
      const answer = await panel.patch(`/sites/${site.id}`, ada.token, { domain })
      expect([answer.status, answer.message]).toEqual([422, `domain: ${RULE}`])
      const asAlias = await panel.patch(`/sites/${site.id}`, ada.token, { aliases: [domain] })
      expect([asAlias.status, asAlias.message]).toEqual([422, `aliases.0: ${RULE}`])
    }
    expect((await panel.get<Site>(`/sites/${site.id}`, ada.token)).data).toEqual(site)
  })
})

describe('aliases', () => {
  test('are kept in their order, normalized', async () => {
    const { data } = await create({ domain: 'ordered.example', aliases: ['Z.Ordered.example', 'ä.ordered.example'] })
    expect(data.aliases).toEqual(['z.ordered.example', 'xn--4ca.ordered.example'])
    expect((await panel.get<Site>(`/sites/${data.id}`, ada.token)).data.aliases).toEqual(data.aliases)
  })

  test('may number 100', async () => {
    const aliases = Array.from({ length: 100 }, (_, n) => `a${n}.hundred.example`)
    const { status, data } = await create({ domain: 'hundred.example', aliases })
    expect([status, data.aliases]).toEqual([201, aliases])
    expect((await panel.get<Site>(`/sites/${data.id}`, ada.token)).data.aliases).toEqual(aliases)
  })

  const REPEATED = 'aliases: must not repeat the domain or another alias'
  test.each<[string, string[], string]>([
    ['the domain', ['free.example'], REPEATED],
    ['the domain in another case', ['FREE.example'], REPEATED],
    ['one another', ['a.example', 'b.example', 'a.example'], 'aliases: must not have the same entry twice'],
    ['one another in another case', ['a.example', 'A.example'], REPEATED],
    ['one another in punycode', ['ü.example', 'xn--tda.example'], REPEATED],
  ])('that repeat %s are refused', async (_, aliases, message) => {
    const before = await count()
    const answer = await create({ domain: 'free.example', aliases })
    expect([answer.status, answer.message]).toEqual([422, message])
    expect(await count()).toBe(before)
  })

  test('beyond 100 are refused', async () => {
    const answer = await create({
      domain: 'free.example',
      aliases: Array.from({ length: 101 }, (_, n) => `a${n}.free.example`),
    })
    expect([answer.status, answer.message]).toEqual([422, 'aliases: must have at most 100 entries'])
  })

  test.each<[unknown, string]>([
    ['a.example', 'aliases: must be an array'],
    [null, 'aliases: must be an array'],
    [{ 0: 'a.example' }, 'aliases: must be an array'],
    [['a.example', 1], 'aliases.1: must be a string'],
    [[null], 'aliases.0: must be a string'],
    [[['a.example']], 'aliases.0: must be a string'],
  ])('like %j are 400', async (aliases, message) => {
    const answer = await create({ domain: 'free.example', aliases })
    expect([answer.status, answer.error, answer.message]).toEqual([400, 'bad request', message])
  })
})

describe('a name on this server', () => {
  const taken = (field: string) => `${field}: a site on this server already has this name`

  test('is taken by a domain and by an alias alike, of any user and in any spelling', async () => {
    await create({ domain: 'müller.example', aliases: ['www.müller.example'] })
    const bob = await panel.customer()
    await panel.subscription(bob.id)
    const attempts: [string, object][] = [
      ['domain', { domain: 'müller.example' }],
      ['domain', { domain: 'MÜLLER.example' }],
      ['domain', { domain: 'xn--mller-kva.example' }],
      ['domain', { domain: 'www.müller.example' }],
      ['aliases.0', { domain: 'bob.example', aliases: ['müller.example'] }],
      ['aliases.1', { domain: 'bob.example', aliases: ['www.bob.example', 'WWW.xn--mller-kva.example'] }],
    ]
    for (const [field, body] of attempts) {
      const answer = await create(body, bob.token)
      expect([answer.status, answer.error, answer.message]).toEqual([409, 'conflict', taken(field)])
    }
    expect((await panel.get('/sites', bob.token)).data).toEqual([])
    // Nothing of the refused attempts has stayed behind.
    expect((await create({ domain: 'bob.example', aliases: ['www.bob.example'] }, bob.token)).status).toBe(201)
  })

  test('cannot be taken by a change either, and the site stays as it was', async () => {
    await create({ domain: 'first.example', aliases: ['www.first.example'] })
    const { data: site } = await create({ domain: 'second.example', aliases: ['www.second.example'] })
    const attempts: [string, object][] = [
      ['domain', { domain: 'first.example' }],
      ['domain', { domain: 'www.first.example' }],
      ['aliases.0', { aliases: ['first.example'] }],
      ['aliases.1', { aliases: ['new.second.example', 'www.first.example'] }],
    ]
    for (const [field, body] of attempts) {
      const answer = await panel.patch(`/sites/${site.id}`, ada.token, body)
      expect([answer.status, answer.message]).toEqual([409, taken(field)])
    }
    expect((await panel.get<Site>(`/sites/${site.id}`, ada.token)).data).toEqual(site)
  })

  test('can move within its site', async () => {
    const { data: site } = await create({ domain: 'old.example', aliases: ['new.example'] })
    const answer = await panel.patch<Site>(`/sites/${site.id}`, ada.token, {
      domain: 'new.example',
      aliases: ['old.example'],
    })
    expect(answer.data).toMatchObject({ domain: 'new.example', aliases: ['old.example'] })
    const same = await panel.patch<Site>(`/sites/${site.id}`, ada.token, { domain: 'New.example' })
    expect(same.data).toMatchObject({ domain: 'new.example', aliases: ['old.example'] })
  })

  test('cannot be a site’s domain while it is its alias', async () => {
    const { data: site } = await create({ domain: 'base.example', aliases: ['www.base.example'] })
    const answer = await panel.patch(`/sites/${site.id}`, ada.token, { domain: 'www.base.example' })
    expect([answer.status, answer.message]).toEqual([422, 'aliases: must not repeat the domain or another alias'])
  })

  test('is free again once its site gives it up or is deleted', async () => {
    const { data: site } = await create({ domain: 'given.example', aliases: ['www.given.example'] })
    await panel.patch(`/sites/${site.id}`, ada.token, { aliases: [] })
    const { data: other } = await create({ domain: 'www.given.example' })
    expect(other.domain).toBe('www.given.example')
    await panel.delete(`/sites/${site.id}`, ada.token)
    expect((await create({ domain: 'given.example' })).status).toBe(201)
  })

  test.each<[string, (n: number) => object]>([
    ['as a domain', () => ({ domain: 'contested-1.example' })],
    ['in many spellings', (n) => ({ domain: n % 2 ? 'ü.contested-2.example' : 'XN--TDA.contested-2.example' })],
    ['as an alias', (n) => ({ domain: `n${n}.contested-3.example`, aliases: ['contested-3.example'] })],
    [
      'as a domain and as an alias',
      (n) =>
        n % 2
          ? { domain: 'contested-4.example' }
          : { domain: `n${n}.contested-4.example`, aliases: ['contested-4.example'] },
    ],
  ])('goes to one of many parallel requests %s', async (_, bodyOf) => {
    const before = await count()
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => create(bodyOf(n))))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(409)])
    expect(await count()).toBe(before + 1)
  })

  test('goes to one of many sites that change to it at once', async () => {
    const sites = await Promise.all(Array.from({ length: 10 }, (_, n) => create({ domain: `c${n}.changing.example` })))
    const answers = await Promise.all(
      sites.map(({ data }, n) =>
        panel.patch(
          `/sites/${data.id}`,
          ada.token,
          n % 2 ? { domain: 'changing.example' } : { aliases: ['changing.example'] },
        ),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)])
    const listed = (await panel.get<Site[]>('/sites?limit=1000', ada.token)).data
    const names = listed.flatMap(({ domain, aliases }) => [domain, ...aliases])
    expect(names.filter((name) => name === 'changing.example')).toHaveLength(1)
    expect(new Set(names).size).toBe(names.length)
  })
})
