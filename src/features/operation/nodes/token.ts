/** The token of a node: `ncpn_` and 32 random bytes in hex. */
import { newPrefixedSecret, sha256 } from '../../../crypto/secret.ts'

const TOKEN = /^ncpn_[0-9a-f]{64}$/

/** @returns the token, to be shown once, and what is stored of it */
export function newNodeToken(): { token: string; tokenHash: string } {
  const token = newPrefixedSecret('ncpn_')
  return { token, tokenHash: sha256(token) }
}

export const isWellFormed = (token: string): boolean => TOKEN.test(token)
