/** Which certificate a name is served with. */

export type Choosable = {
  /** Rises. */
  id: number
  names: readonly string[]
  source: 'acme' | 'uploaded'
  /** Milliseconds since the epoch. */
  notAfter: number
}

/** A wildcard stands for one label (RFC 6125 §6.4.3). */
export function coversName(names: readonly string[], name: string): boolean {
  return names.includes(name) || names.includes(`*.${name.slice(name.indexOf('.') + 1)}`)
}

/**
 * An uploaded one before any other, since someone chose it, and of several the newest: an authority may give shorter lives
 * than it did. One that has expired is chosen only where there is no other: a visitor is then told that it has expired, and
 * not that it is another's.
 */
export function chooseCertificate<Certificate extends Choosable>(
  certificates: readonly Certificate[],
  name: string,
  now: number,
): Certificate | undefined {
  const rank = ({ source, notAfter }: Certificate) => (notAfter <= now ? 0 : source === 'acme' ? 1 : 2)
  return certificates
    .filter(({ names }) => coversName(names, name))
    .toSorted((one, other) => rank(other) - rank(one) || other.id - one.id)[0]
}
