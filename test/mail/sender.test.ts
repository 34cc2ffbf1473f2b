/** The sender of emails, as operators write it. */
import { expect, test } from 'bun:test'
import { parseSender } from '../../src/mail/sender.ts'

test.each([
  ['panel@example.com', undefined, 'panel@example.com'],
  [' panel@example.com ', undefined, 'panel@example.com'],
  ['<panel@example.com>', undefined, 'panel@example.com'],
  ['Example Hosting <panel@example.com>', 'Example Hosting', 'panel@example.com'],
  ['"Müller, Hosting" <panel@example.com>', 'Müller, Hosting', 'panel@example.com'],
])('%j is %j at %j', (text, name, address) => {
  expect(parseSender(text)).toEqual({ name, address })
})

test.each([
  '',
  'panel',
  'Example Hosting',
  'a@example.com, b@example.com',
  'A <a@example.com> <b@example.com>',
  'A <a@example.com',
  'A\r\nBcc: x <a@example.com>',
  'A <>',
  `${'x'.repeat(101)} <a@example.com>`,
])('%j is refused with the rule', (text) => {
  expect(() => parseSender(text)).toThrow('a name and an address')
})
