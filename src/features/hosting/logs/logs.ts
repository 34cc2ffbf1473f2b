/** The logs of sites, from whichever node serves them. */
import type { Caller } from '../../../core/actor.ts'
import { AppError } from '../../../core/errors.ts'
import type { ReadStore } from '../../../db/store.ts'
import type { LogRequests } from '../../../node/log-requests.ts'
import type { LogKind } from '../../../node/protocol.ts'
import type { SiteAccess, SiteRef } from '../site-access.ts'

export type LogsOptions = { store: ReadStore; siteAccess: SiteAccess; logRequests: LogRequests }

export type LogFilter = { kind: LogKind; lines: number; search: string | null }

export type Logs = ReturnType<typeof createLogs>

export function createLogs({ store, siteAccess, logRequests }: LogsOptions) {
  return {
    /** The last lines of a log, the oldest first. @throws AppError `not_found`, `forbidden`, `unavailable`, and `conflict` for a log that is one for all sites of a node */
    async read(caller: Caller, ref: SiteRef, filter: LogFilter): Promise<string[]> {
      const { site } = await siteAccess.find(store.read, caller, ref)
      if (site.nodeId !== null && filter.kind === 'error') {
        throw new AppError(
          'conflict',
          "A node's web server has one error log for all sites, which only its operator reads; kind=access and kind=php are the site's own",
        )
      }
      return logRequests.ask(site.nodeId, { siteId: site.id, ...filter })
    },
  }
}
