/** The secret of an API key, in the contract's form: `ncp_` and 32 random bytes in hex. */
import { newPrefixedSecret, sha256 } from '../../../crypto/secret.ts'

/** `ncp_` and 16 hex digits: enough to recognise a key, while 192 of its 256 bits stay secret. */
const PREFIX_LENGTH = 20

/** @returns the key, to be shown once, and what is stored of it */
export function newSecret(): { key: string; keyHash: string; keyPrefix: string } {
  const key = newPrefixedSecret('ncp_')
  return { key, keyHash: sha256(key), keyPrefix: key.slice(0, PREFIX_LENGTH) }
}
