/** What lies on a node outside of sites: made and mended as the set-up of the node has left it. */
import type { Log } from '../log/log.ts'
import type { Account } from './accounts.ts'
import { ensureDirectory } from './directory.ts'
import type { NodeLayout } from './layout.ts'
import { treeOf } from './setup/tree.ts'
import { ensureStates } from './states.ts'

/** @param web the user of the web server's workers */
export function ensureNodeTree(layout: NodeLayout, web: Account, log: Log): void {
  const mended = treeOf(layout).filter(
    ({ path, mode, owner, group }) =>
      // On the view lies a mount of another directory.
      path !== layout.view &&
      ensureDirectory({ path, mode, uid: owner === 'web' ? web.id : 0, gid: group === 'web' ? web.gid : 0 }) ===
        'mended',
  )
  if (mended.length > 0) {
    log.warn({ repaired: mended.map(({ path }) => path) }, 'directories of the node were put right')
  }
  ensureStates(layout, web.gid)
}
