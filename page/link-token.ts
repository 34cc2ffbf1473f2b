/** The token of an emailed link. */

/**
 * Taken from the fragment before anything else runs, and removed from the address: neither the history of the browser nor a
 * copied address has it.
 */
export const linkToken = new URLSearchParams(location.hash.slice(1)).get('token') ?? undefined

if (linkToken !== undefined) history.replaceState(null, '', location.pathname + location.search)
