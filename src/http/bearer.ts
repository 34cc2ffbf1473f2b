/** Reads the Authorization header, strictly. */

/** RFC 6750 §2.1 b64token, after a scheme that is case-insensitive (RFC 9110 §11.1). */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i
/** Our JWTs are under 400 characters; a key has 68. */
const MAX_LENGTH = 2048

/**
 * @param header the Authorization header. Two of them arrive joined by a comma, which no token contains
 * @returns the credential, or undefined unless the header is exactly one bearer credential
 */
export function readBearer(header: string): string | undefined {
  if (header.length > MAX_LENGTH) return undefined
  return BEARER.exec(header)?.[1]
}
