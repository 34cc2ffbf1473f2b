/** Email addresses, in the plain form that every mail system reads the same way. */

export const EMAIL_LENGTH = 254
const LOCAL_LENGTH = 64
/**
 * ASCII only and unquoted: beyond that, two addresses can look like one (the Kelvin sign lower-cases to `k`), and a
 * quoted local part is read differently by different mailers.
 */
const ADDRESS = /^([a-z0-9!#$%&'*+/=?^_`{|}~.-]+)@([a-z0-9.-]+)$/i
/** RFC 1123 §2.1. */
const DOMAIN_LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i

/** The dot-atom form of RFC 5321 §4.1.2, within the lengths of its §4.5.3.1. */
export function isEmailAddress(value: string): boolean {
  if (value.length > EMAIL_LENGTH) return false
  const [, local = '', domain = ''] = ADDRESS.exec(value) ?? []
  if (local === '' || local.length > LOCAL_LENGTH) return false
  return local.split('.').every((atom) => atom !== '') && domain.split('.').every((label) => DOMAIN_LABEL.test(label))
}

/** An address as it is stored and looked up: lower-case, and without the blanks that pasting and keyboards add around it. */
export function normalizeEmail(text: string): string {
  return text.trim().toLowerCase()
}
