/** Which passwords are accepted: long enough, not too long, and not commonly used. No composition rules. */

import { hostname } from 'node:os'
import commonPasswordsFile from '@zxcvbn-ts/language-common/src/passwords.json' with { type: 'file' }
import { AppError } from '../core/errors.ts'
import { normalizePassword } from './passwords.ts'

export const PASSWORD_LENGTH = { minimum: 8, maximum: 256 }

/** Characters. */
const SHORTEST_REMAINDER = 4

let commonPasswords: Promise<Set<string>> | undefined

/**
 * NIST SP 800-63B-4 §3.1.1.2 and ASVS V6.2: length in code points, a blocklist with the reason, words of the context.
 *
 * @param field the request's field, for the message
 * @throws AppError `validation_error` that names the rule
 */
export async function checkPasswordRules(field: string, password: string, email: string): Promise<void> {
  const normalized = normalizePassword(password)
  const length = [...normalized].length
  if (length < PASSWORD_LENGTH.minimum || length > PASSWORD_LENGTH.maximum) {
    throw refusal(field, `must be ${PASSWORD_LENGTH.minimum} to ${PASSWORD_LENGTH.maximum} characters`)
  }
  const lowered = normalized.toLowerCase()
  commonPasswords ??= loadCommonPasswords()
  const common = await commonPasswords
  if (isPattern(lowered) || common.has(lowered)) {
    throw refusal(field, 'is one of the most used passwords, which attackers try first')
  }
  if (isCommonWithAdditions(lowered, common)) {
    throw refusal(
      field,
      'is a common password with something added, which attackers try too; use several words, or let a password manager make one',
    )
  }
  // What is left beside the known words is too short to be a password of its own.
  if (withoutWords(lowered, contextWords(email)).length < SHORTEST_REMAINDER) {
    throw refusal(field, 'must not be made of your email address, the name of this server or of this product')
  }
}

/** The product, this server, and the user's address and its parts; longest first, since one may hold another. */
function contextWords(email: string): string[] {
  const names = [email, hostname()].flatMap((name) => [name, ...name.split(/[@.]/)])
  return ['ncp', 'localhost', ...names]
    .map((word) => word.toLowerCase())
    .filter((word) => word.length >= 2)
    .sort((a, b) => b.length - a.length)
}

function withoutWords(text: string, words: string[]): string {
  return words.reduce((rest, word) => rest.replaceAll(word, ''), text)
}

/** One short piece over and over, or a straight run: lists of common passwords leave these to be recognised. */
function isPattern(text: string): boolean {
  const points = [...text].map((character) => character.codePointAt(0) ?? 0)
  const repeats = [1, 2, 3, 4].some((length) => points.every((point, i) => point === points[i % length]))
  const step = (points[1] ?? 0) - (points[0] ?? 0)
  const runs = Math.abs(step) === 1 && points.every((point, i) => i === 0 || point - (points[i - 1] ?? 0) === step)
  return repeats || runs
}

/**
 * Whether it is a common password but for digits and signs at its ends, and signs that stand for letters, such as "Password1!",
 * "password123456" and "P@ssw0rd2024".
 */
function isCommonWithAdditions(text: string, common: ReadonlySet<string>): boolean {
  const characters = [...text]
  const first = characters.findIndex(isLetter)
  const last = characters.findLastIndex(isLetter)
  const before = characters.slice(0, first).join('')
  const core = characters.slice(first, last + 1).join('')
  const after = characters.slice(last + 1).join('')
  if (first === -1 || core.length < SHORTEST_CORE) return false
  const cores = [core, asLetters(core), asLetters(before + core)]
  const half = core.slice(0, core.length / 2)
  const isCommon = cores.some((candidate) => common.has(candidate)) || (common.has(half) && half + half === core)
  const unguessable = (before + after).match(/\d+|\D/g)?.filter((part) => !isGuessed(part, common)) ?? []
  return isCommon && unguessable.join('').length <= LONGEST_ADDITION
}

/** What stands in no list of additions can be this long, in characters, without making a password of a common one. */
const LONGEST_ADDITION = 4
const SHORTEST_CORE = 3

const isLetter = (character: string) => /\p{L}/u.test(character)

/** A year, a run, a repetition or a common password of digits. */
function isGuessed(part: string, common: ReadonlySet<string>): boolean {
  return /^(19|20)\d\d$/.test(part) || isPattern(part) || common.has(part)
}

function asLetters(text: string): string {
  return text.replaceAll(/[013457@$!]/g, (sign) => LETTER_OF[sign] ?? sign)
}

const LETTER_OF: Record<string, string> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
  '!': 'i',
}

async function loadCommonPasswords(): Promise<Set<string>> {
  return new Set<string>(await Bun.file(commonPasswordsFile).json())
}

function refusal(field: string, rule: string): AppError {
  return new AppError('validation_error', `${field}: ${rule}`)
}
