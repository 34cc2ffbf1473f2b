/** What the agent believes of the desired state: a field that no panel of ours would send so fails its site alone. */
import { describe, expect, test } from 'bun:test'
import { requireIds, wrongField } from '../../src/agent/checks.ts'
import type { DesiredRelease, DesiredSite, DesiredSubscription } from '../../src/node/protocol.ts'

const release: DesiredRelease = {
  deploymentId: 5,
  number: 2,
  sha256: 'a'.repeat(64),
  archiveBytes: 10,
  publicDir: null,
}
const site: DesiredSite = {
  id: 7,
  generation: 3,
  state: 'serving',
  names: ['example.com', 'xn--bcher-kva.example', `${'a'.repeat(63)}.example`],
  kind: 'php',
  phpVersion: '8.2',
  spa: false,
  publicDir: 'web/dist',
  release: 2,
  toUnpack: [release],
  kept: [1, 2],
}
const subscription: DesiredSubscription = { id: 12, state: 'active', sites: [site] }

test('what the panel sends is right', () => {
  expect(wrongField(subscription, site)).toBeUndefined()
  expect(
    wrongField({ ...subscription, state: 'suspended' }, { ...site, release: null, publicDir: '.' }),
  ).toBeUndefined()
})

const INJECTIONS = [
  ...[
    '',
    '..',
    '.',
    '/',
    '/etc',
    'a/../b',
    '../x',
    'a//b',
    'a\0b',
    'a\nb',
    'a;b',
    'a}b',
    "a'b",
    'a"b',
    'a b',
    '-x',
    '.x',
    '$x',
    '~',
  ],
  ...[null, undefined, true, 0, -1, 1.5, Number.NaN, Infinity, 2 ** 53, {}, [], ['a'], { length: 1 }],
]

const titleOf = (value: unknown) => JSON.stringify(value) ?? `${value}`

describe.each([
  [
    'names',
    [
      ...INJECTIONS.map((value) => [value]),
      [],
      'example.com',
      [['example.com']],
      ['EXAMPLE.com'],
      ['a_b.example'],
      ['localhost'],
      ['127.0.0.1'],
      [`${'a'.repeat(64)}.example`],
      [`${'a.'.repeat(127)}example`],
      ['*.example.com'],
      ['a..b'],
      ['example.com.'],
    ],
  ],
  ['publicDir', INJECTIONS.filter((value) => value !== null && value !== '.').concat('a'.repeat(256))],
  [
    'healthPath',
    [
      'x',
      'https://a.example/',
      '//a.example/',
      '/a b',
      '/a\nb',
      '/a\0b',
      '/a\r\nHost: b',
      `/${'a'.repeat(5000)}`,
      1,
      true,
      {},
      [],
    ],
  ],
  ['phpVersion', INJECTIONS.filter((value) => value !== null).concat('8', '8.2.1', '8.2/../x', '8.2\n', 'php8.2')],
  ['release', INJECTIONS.filter((value) => value !== null).concat('1', 0)],
  ['generation', INJECTIONS.concat('1')],
  ['id', INJECTIONS.concat('7', 3_000_000_000)],
  ['state', INJECTIONS.concat('suspended', 'SERVING')],
  ['kind', INJECTIONS.concat('perl')],
  ['spa', INJECTIONS.filter((value) => value !== true).concat('true', 1)],
  ['kept', [...INJECTIONS.filter((value) => !Array.isArray(value)), ...INJECTIONS.map((value) => [value])]],
  ['toUnpack', [...INJECTIONS.filter((value) => !Array.isArray(value)), ...INJECTIONS.map((value) => [value])]],
] as [keyof DesiredSite, unknown[]][])('%s', (field, values) => {
  test.each(values.map((value) => [titleOf(value), value]))('%s is wrong', (_, value) => {
    expect(wrongField(subscription, { ...site, [field]: value } as DesiredSite)).toBe(field)
  })
})

describe.each([
  ['deploymentId', INJECTIONS],
  ['number', INJECTIONS.concat('2')],
  ['archiveBytes', INJECTIONS],
  ['sha256', INJECTIONS.concat('A'.repeat(64), 'a'.repeat(63), `${'a'.repeat(64)}\n`)],
  ['publicDir', INJECTIONS.filter((value) => value !== null && value !== '.')],
] as [keyof DesiredRelease, unknown[]][])('%s of a release', (field, values) => {
  test.each(values.map((value) => [titleOf(value), value]))('%s is wrong', (_, value) => {
    const toUnpack = [{ ...release, [field]: value }] as DesiredRelease[]
    expect(wrongField(subscription, { ...site, toUnpack })).toBe('toUnpack')
  })
})

test.each(INJECTIONS.concat('12', 3_000_000_000).map((value) => [titleOf(value), value]))(
  '%s is no id of a subscription or of a site',
  (_, value) => {
    expect(wrongField({ ...subscription, id: value as number }, site)).toBe('subscription')
    expect(() => requireIds(value)).toThrow()
    if (value !== undefined) expect(() => requireIds(12, value)).toThrow()
  },
)
