/** What the agent refuses to believe of PHP, whatever a panel sends. */
import { expect, test } from 'bun:test'
import { anything, assert, property } from 'fast-check'
import { arePhpLimits, isEnvironment, isSitePhp } from '../../../src/agent/php/checks.ts'
import { DEFAULT_PHP_LIMITS, isPlainDirectory, PHP_DIRECTIVES, takes } from '../../../src/node/php.ts'

test('what our panel sends is right', () => {
  expect(arePhpLimits(undefined)).toBeTrue()
  expect(arePhpLimits(DEFAULT_PHP_LIMITS)).toBeTrue()
  expect(isSitePhp(undefined)).toBeTrue()
  expect(isSitePhp({ settings: [], noPhpIn: [] })).toBeTrue()
  const settings = [
    { name: 'memory_limit', value: '128M' },
    { name: 'date.timezone', value: 'Europe/Berlin' },
    { name: 'display_errors', value: true },
  ]
  expect(isSitePhp({ settings, noPhpIn: ['wp-content/uploads'] })).toBeTrue()
})

test.each(
  [
    null,
    7,
    'php',
    [],
    {},
    { settings: {}, noPhpIn: [] },
    { settings: [], noPhpIn: 'files' },
    { settings: [null], noPhpIn: [] },
    { settings: [{ name: 'open_basedir', value: '/' }], noPhpIn: [] },
    { settings: [{ name: '__proto__', value: true }], noPhpIn: [] },
    { settings: [{ name: 'constructor', value: true }], noPhpIn: [] },
    { settings: [{ name: 'memory_limit', value: '128M\nlisten=/tmp/x' }], noPhpIn: [] },
    { settings: [{ name: 'memory_limit', value: ['128M'] }], noPhpIn: [] },
    { settings: [{ name: 'display_errors', value: 1 }], noPhpIn: [] },
    {
      settings: [
        { name: 'display_errors', value: true },
        { name: 'display_errors', value: false },
      ],
      noPhpIn: [],
    },
    { settings: [], noPhpIn: ['../x'] },
    { settings: [], noPhpIn: [['files']] },
    { settings: [], noPhpIn: Array.from({ length: 21 }, (_, i) => `d${i}`) },
  ].map((value: unknown): [unknown] => [value]),
)('%j is not what a site may say of PHP', (value) => {
  expect(isSitePhp(value)).toBeFalse()
})

test.each(
  [
    null,
    [],
    {},
    { ...DEFAULT_PHP_LIMITS, workers: 0 },
    { ...DEFAULT_PHP_LIMITS, workers: '5' },
    { ...DEFAULT_PHP_LIMITS, seconds: 1.5 },
    { ...DEFAULT_PHP_LIMITS, memoryMb: Number.POSITIVE_INFINITY },
    { ...DEFAULT_PHP_LIMITS, uploadMb: 1e9 },
  ].map((value: unknown): [unknown] => [value]),
)('%j are no limits', (value) => {
  expect(arePhpLimits(value)).toBeFalse()
})

test('an environment is believed as our panel sends it', () => {
  const variables = [
    { name: 'DB_PASSWORD', value: '"; listen = /tmp/x' },
    { name: 'EMPTY', value: '' },
  ]
  expect([undefined, [], variables].map(isEnvironment)).toEqual([true, true, true])
})

const variable = { name: 'A', value: 'x' }
test.each<[string, unknown]>([
  ['null', null],
  ['an object', { A: 'x' }],
  ['a text', 'A=x'],
  ['null in a list', [null]],
  ['a name in lower case', [{ ...variable, name: 'a' }]],
  ['a name with a bracket', [{ ...variable, name: 'A] = x' }]],
  ['a name with a line break', [{ ...variable, name: 'A\n' }]],
  ['the name of another process', [{ ...variable, name: 'LD_PRELOAD' }]],
  ['the sockets', [{ ...variable, name: 'FPM_SOCKETS' }]],
  ['a list for a name', [{ ...variable, name: ['A'] }]],
  ['a number', [{ ...variable, value: 7 }]],
  ['NUL', [{ ...variable, value: 'a\0b' }]],
  ['a long value', [{ ...variable, value: 'x'.repeat(4097) }]],
  ['a name twice', [variable, variable]],
  ['many', Array.from({ length: 201 }, (_, i) => ({ ...variable, name: `A${i}` }))],
  ['much', Array.from({ length: 17 }, (_, i) => ({ name: `A${i}`, value: 'x'.repeat(4096) }))],
])('%s is no environment', (_, value) => {
  expect(isEnvironment(value)).toBeFalse()
})

test('whatever is believed holds every rule', () => {
  assert(
    property(anything({ withNullPrototype: true }), anything(), anything(), (name, value, directory) => {
      const php = { settings: [{ name, value }], noPhpIn: [directory] } as never
      if (!isSitePhp(php)) return
      expect(takes(PHP_DIRECTIVES[name as keyof typeof PHP_DIRECTIVES], value)).toBeTrue()
      expect(isPlainDirectory(directory as string)).toBeTrue()
    }),
    { numRuns: 2000 },
  )
})
