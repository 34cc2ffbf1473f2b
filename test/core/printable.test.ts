/** Texts of others on a terminal: what is dangerous is shown as an escape, what people write stays. */
import { expect, test } from 'bun:test'
import { printable, printableLines } from '../../src/core/printable.ts'

test.each([
  ['an escape sequence', 'a\x1b[2Jb', 'a\\u001b[2Jb'],
  ['the one-byte form of it', 'a\x9b2Jb', 'a\\u009b2Jb'],
  ['a line end and a tab', 'a\nb\tc\r', 'a\\u000ab\\u0009c\\u000d'],
  ['a text direction override', 'a\u202eb\u2066c\u200fd\u061c', 'a\\u202eb\\u2066c\\u200fd\\u061c'],
  ['an invisible character', 'a\u200bb\u00adc\ufeffd\u{e0041}', 'a\\u200bb\\u00adc\\ufeffd\\udb40\\udc41'],
  ['half a surrogate pair', 'a\ud800b', 'a\\ud800b'],
])('%s is shown as an escape', (_, text, shown) => {
  expect(printable(text)).toBe(shown)
})

test.each(['Zoë Bücher-König', '日本語', 'العربية', '👩‍💻 ❤️', 'می‌خواهم', 'a\u00a0b'])('%s stays as it is', (text) => {
  expect(printable(text)).toBe(text)
})

test('a JSON document still parses to the same document', () => {
  const name = 'a\x1b[31m\u202e\u{e0041}"\\\x7f'
  expect(JSON.parse(printable(JSON.stringify({ name })))).toEqual({ name })
})

test('line breaks of our own output are kept', () => {
  expect(printableLines('a\tb\nc\x1b')).toBe('a\tb\nc\\u001b')
})
