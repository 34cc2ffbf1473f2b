/** Which passwords may be set: long enough, not too long, not one that everybody tries first. No composition rules. */

import { hostname } from 'node:os'
import commonPasswordsFile from '@zxcvbn-ts/language-common/src/passwords.json' with { type: 'file' }
import { AppError } from '../core/errors.ts'

export const PASSWORD_LENGTH = { minimum: 8, maximum: 256 }

let commonPasswords: Promise<Set<string>> | undefined

/**
 * NIST SP 800-63B-4 §3.1.1.2 and ASVS V6.2: length in code points, a blocklist with the reason, words of the context.
 *
 * @param field the request's field, for the message
 * @throws AppError `validation_error` that names the rule
 */
export async function checkPasswordRules(field: string, password: string, email: string): Promise<void> {
  const normalized = password.normalize('NFC')
  const length = [...normalized].length
  if (length < PASSWORD_LENGTH.minimum || length > PASSWORD_LENGTH.maximum) {
    throw refusal(field, `must be ${PASSWORD_LENGTH.minimum} to ${PASSWORD_LENGTH.maximum} characters`)
  }
  const lowered = normalized.toLowerCase()
  commonPasswords ??= loadCommonPasswords()
  if ((await commonPasswords).has(lowered)) {
    throw refusal(field, 'is one of the most used passwords, which attackers try first')
  }
  const contextWords = ['ncp', email.split('@')[0] ?? '', email, hostname().toLowerCase()]
  // What is left beside a known word is too short to be a password of its own.
  if (contextWords.some((word) => word !== '' && lowered.replaceAll(word, '').length < 4 && lowered.includes(word))) {
    throw refusal(field, 'must not be made of your email address, the name of this server or of this product')
  }
}

async function loadCommonPasswords(): Promise<Set<string>> {
  const list: string[] = await Bun.file(commonPasswordsFile).json()
  return new Set(list.filter((password) => password.length >= PASSWORD_LENGTH.minimum))
}

function refusal(field: string, rule: string): AppError {
  return new AppError('validation_error', `${field}: ${rule}`)
}
