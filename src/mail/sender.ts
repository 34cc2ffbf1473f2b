/** Parses the configured sender of emails: an address, or a name with the address in angle brackets. */
import { isEmailAddress } from '../core/email.ts'

export type Sender = { name: string | undefined; address: string }

/** Characters. */
const NAME_LENGTH = 100

/**
 * @param text `panel@example.com` or `Example Hosting <panel@example.com>`
 * @throws Error that states the rule
 */
export function parseSender(text: string): Sender {
  const trimmed = text.trim()
  const open = trimmed.endsWith('>') ? trimmed.lastIndexOf('<') : -1
  const address = open === -1 ? trimmed : trimmed.slice(open + 1, -1).trim()
  const name = open === -1 ? '' : unquoted(trimmed.slice(0, open).trim())
  if (!isEmailAddress(address) || name.length > NAME_LENGTH || /[\p{Cc}<>"]/u.test(name)) {
    throw new Error('must be an email address, or a name and an address: Example Hosting <panel@example.com>')
  }
  return { name: name === '' ? undefined : name, address }
}

function unquoted(name: string): string {
  return name.length >= 2 && name.startsWith('"') && name.endsWith('"') ? name.slice(1, -1).trim() : name
}
