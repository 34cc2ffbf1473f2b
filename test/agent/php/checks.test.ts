/** What the agent refuses to believe of PHP, whatever a panel sends. */
import { expect, test } from 'bun:test'
import { anything, assert, property } from 'fast-check'
import { arePhpLimits, isSitePhp } from '../../../src/agent/php/checks.ts'
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
