/** RFC 6238 against its own test vectors, and the shape of recovery codes. */
import { describe, expect, test } from 'bun:test'
import { newRecoveryCodes, newTotpSecret, normalizeRecoveryCode, totpStep } from '../../src/crypto/totp.ts'

/** The RFC's seed, "12345678901234567890", in base32. */
const RFC_SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'

describe('a code', () => {
  // Appendix B for SHA-1, of whose eight digits the last six are the code.
  test.each([
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ])('at %i s is %s', (seconds, code) => {
    expect(totpStep(RFC_SECRET, code, seconds * 1000)).toBe(Math.floor(seconds / 30))
  })

  test('is accepted in its own step and the next, and in no other', () => {
    const step = Math.floor(1_234_567_890 / 30)
    const at = (offset: number) => totpStep(RFC_SECRET, '005924', (step + offset) * 30_000)
    expect([-1, 0, 1, 2].map(at)).toEqual([undefined, step, step, undefined])
  })

  test('is accepted in the last five seconds before its step', () => {
    const step = Math.floor(1_234_567_890 / 30)
    const before = (ms: number) => totpStep(RFC_SECRET, '005924', step * 30_000 - ms)
    expect([5001, 5000, 1].map(before)).toEqual([undefined, step, step])
  })

  test.each(['005 924', '005-924', ' 005924 '])('may be written as %j', (code) => {
    expect(totpStep(RFC_SECRET, code, 1_234_567_890_000)).toBe(Math.floor(1_234_567_890 / 30))
  })

  test.each(['', '5924', '0005924', '005925', ' 05924', '٠٠٥٩٢٤', '1e1000'])('may not be %j', (code) => {
    expect(totpStep(RFC_SECRET, code, 1_234_567_890_000)).toBeUndefined()
  })
})

test('a seed has 160 bits and differs each time', () => {
  const seeds = Array.from({ length: 100 }, newTotpSecret)
  expect(new Set(seeds).size).toBe(100)
  for (const seed of seeds) expect(seed).toMatch(/^[A-Z2-7]{32}$/)
})

test('ten recovery codes are distinct, and read without their separators', () => {
  const codes = newRecoveryCodes()
  expect(new Set(codes).size).toBe(10)
  for (const code of codes) {
    expect(code).toMatch(/^([0-9A-HJKMNP-TV-Z]{5}-){5}[0-9A-HJKMNP-TV-Z]$/)
    expect(normalizeRecoveryCode(` ${code.toLowerCase()} `)).toBe(code.replaceAll('-', ''))
  }
})
