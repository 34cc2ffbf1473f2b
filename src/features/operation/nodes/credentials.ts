/** Finds the node behind a token: the only place that recognises one. */
import { eq, or } from 'drizzle-orm'
import { type Awaitable, whenKnown } from '../../../core/awaitable.ts'
import type { Clock } from '../../../core/clock.ts'
import type { NodePrincipal } from '../../../core/principal.ts'
import { Rejection, unknownCredential } from '../../../core/rejection.ts'
import { formatTimestamp } from '../../../core/timestamp.ts'
import { sha256 } from '../../../crypto/secret.ts'
import { given, prepare } from '../../../db/statements.ts'
import type { Queries, ReadStore } from '../../../db/store.ts'
import { nodes } from '../../../db/tables.ts'
import { createVersionCache } from '../../../db/version-cache.ts'
import { isWellFormed } from './token.ts'

/** Nodes cached for one version of the store. */
const CACHE_ENTRIES = 1000

const malformedToken = new Rejection(
  'malformed',
  'The token of a node is ncpn_ and 64 hexadecimal digits in lower case',
)

// A removed node has no hash left that could be found.
const findByHash = prepare((queries) =>
  queries
    .select()
    .from(nodes)
    .where(or(eq(nodes.tokenHash, given('hash')), eq(nodes.previousTokenHash, given('hash')))),
)

async function nodeOfHash(queries: Queries, tokenHash: string): Promise<NodePrincipal | undefined> {
  const row = await findByHash.first(queries, { hash: tokenHash })
  if (!row) return undefined
  // A previous token without an end would never stop working.
  return { nodeId: row.id, tokenHash, validUntil: row.tokenHash === tokenHash ? null : (row.previousValidUntil ?? 0) }
}

/** @returns the node with this token, or the reason why there is none at this time */
export async function findNode(queries: Queries, tokenHash: string, nowMs: number): Promise<NodePrincipal | Rejection> {
  const found = await nodeOfHash(queries, tokenHash)
  return found ? unexpired(found, nowMs) : unknownCredential
}

/** @returns the node, or the reason why its token is not valid at this time */
function unexpired(node: NodePrincipal, nowMs: number): NodePrincipal | Rejection {
  const { validUntil } = node
  if (validUntil === null || validUntil > nowMs) return node
  return new Rejection('rotated', `The token was rotated; this one worked until ${formatTimestamp(validUntil)}`)
}

export type NodeCredentialsOptions = {
  store: ReadStore
  clock: Clock
  /** Called for each use. */
  record(nodeId: number): void
}

export function createNodeCredentials({ store, clock, record }: NodeCredentialsOptions) {
  const cache = createVersionCache<NodePrincipal>(CACHE_ENTRIES)

  function find(token: string, version: number): Awaitable<NodePrincipal | Rejection> {
    if (!isWellFormed(token)) return malformedToken
    const hash = sha256(token)
    return whenKnown(
      cache.get(version, hash, () => nodeOfHash(store.read, hash)),
      // Not cached: time passes without a commit.
      (node) => (node ? unexpired(node, clock.now()) : unknownCredential),
    )
  }

  return {
    /** Like `authenticate`, without counting a use: for a request whose token was already counted. */
    recognize: (token: string): Awaitable<NodePrincipal | Rejection> =>
      whenKnown(store.version(), (version) => find(token, version)),

    /**
     * @param version the store's, read earlier
     * @returns the node, synchronously if cached; a rejection for a token that is malformed, unknown, expired or of a
     * removed node
     */
    authenticate(token: string, version: number): Awaitable<NodePrincipal | Rejection> {
      return whenKnown(find(token, version), (found) => {
        if (!(found instanceof Rejection)) record(found.nodeId)
        return found
      })
    },
  }
}
