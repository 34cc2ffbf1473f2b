/** Orders certificates for sites, with the panel's account. */
import { accountKey } from './account.ts'
import { orderCertificate, type PublishChallenge } from './client.ts'
import { AcmeError } from './problem.ts'

export type SiteOrderOptions = {
  directoryUrl: string
  email: string | undefined
  /** Of the account's key, which is made at the first order. */
  accountKeyPath: string
  /** See `AcmeOptions`. */
  ca?: string | undefined
}

export type OrderOutcome =
  | {
      ok: true
      /** PEM. */
      chain: string
    }
  | {
      ok: false
      /** In the authority's words where it gave any. */
      reason: string
      /** The names that are to blame, with the reason for each; empty if it is the order itself. */
      refused: ReadonlyMap<string, string>
      /** How long the authority wants to be left alone. */
      retryAfterMs: number | undefined
    }

export function createSiteOrder({ accountKeyPath, email, directoryUrl, ca }: SiteOrderOptions) {
  /** @param csr for `names`, DER */
  return async function order(
    names: readonly string[],
    csr: Uint8Array,
    publish: PublishChallenge,
    signal: AbortSignal,
  ): Promise<OrderOutcome> {
    try {
      const account = { privateKey: await accountKey(accountKeyPath), email }
      const chain = await orderCertificate({ directoryUrl, account, publish, signal, ca }, names, csr)
      return { ok: true, chain }
    } catch (error) {
      if (error instanceof AcmeError) {
        const { message: reason, retryAfterMs } = error
        const refused = error.refused.size > 0 ? error.refused : namedIn(reason, names)
        return { ok: false, reason, refused, retryAfterMs }
      }
      const reason = `The certificate authority did not issue it: ${(error as Error).message}`
      return { ok: false, reason, refused: new Map(), retryAfterMs: undefined }
    }
  }
}

/** An authority that refuses an order for one of its names says so in its words alone: the others can have theirs. */
function namedIn(reason: string, names: readonly string[]): Map<string, string> {
  const named = names.filter((name) =>
    new RegExp(`(?<![a-z0-9.-])${RegExp.escape(name)}(?!\\.?[a-z0-9-])`, 'i').test(reason),
  )
  return new Map(named.map((name) => [name, reason]))
}
