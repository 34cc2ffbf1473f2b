/** Deleted sites, for some days: moved whole by one rename, so that their operator can bring them back. */
import { lstatSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { removeTree } from './command.ts'
import { type NodeLayout, siteOf } from './layout.ts'
import { namesIn } from './tree.ts'

export const TRASH_MS = 7 * 24 * 60 * 60 * 1000

export type Trash = ReturnType<typeof createTrash>

export function createTrash(layout: NodeLayout) {
  return {
    /** @param at milliseconds since the epoch */
    discard(subscriptionId: number, siteId: number, at: number): void {
      const path = siteOf(layout, subscriptionId, siteId)
      if (!lstatSync(path, { throwIfNoEntry: false })) return
      renameSync(path, join(layout.trash, `${subscriptionId}-${siteId}-${at}`))
    },

    /** Removes what has been here since before a time. */
    async empty(before: number, stopping: AbortSignal): Promise<void> {
      for (const name of namesIn(layout.trash)) {
        const [, discardedAt] = /^\d+-\d+-(\d+)$/.exec(name) ?? []
        if (stopping.aborted) return
        if (discardedAt === undefined || Number(discardedAt) >= before) continue
        await removeTree(join(layout.trash, name))
      }
    },
  }
}
