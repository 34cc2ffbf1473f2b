/** The sites that this process serves itself, as its reconciler fills them in. */

/** A site as it is served now. Replaced whole by the reconciler, never changed in place. */
export type ServedSite = {
  id: number
  subscriptionId: number
  generation: number
  state: 'serving' | 'suspended' | 'disabled'
  /** Absolute real path of the directory that is served; undefined before the first deployment. */
  root: string | undefined
  /** Whether unknown paths give `index.html`. */
  spa: boolean
}

export type SiteTable = {
  /** @param host a domain name in lower case, without port and trailing dot */
  find(host: string): ServedSite | undefined
}
