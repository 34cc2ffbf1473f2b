/** Names that no certificate authority issues for. */

/** Reserved: RFC 6761 §6, RFC 6762 §3, RFC 7686, RFC 8375, RFC 9476. */
const RESERVED = ['localhost', 'test', 'invalid', 'example', 'local', 'onion', 'home.arpa', 'alt']

/** @returns undefined for a name that can have a certificate */
export function reasonForNever(name: string): string | undefined {
  const zone = RESERVED.find((zone) => name === zone || name.endsWith(`.${zone}`))
  return zone === undefined
    ? undefined
    : `Names below .${zone} get no certificate: they are for use without the Internet`
}
