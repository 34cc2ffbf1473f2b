/** Makes the directories of a node, with their owners and modes. */
import { lstatSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { codeOf } from '../../core/error-code.ts'
import { ensureDirectory } from '../directory.ts'
import type { NodeLayout } from '../layout.ts'
import { isMounted } from '../mounts.ts'
import { accessLogOf } from '../web/access-log.ts'
import { webAccount } from './accounts.ts'
import type { Step } from './step.ts'
import { type Directory, treeOf } from './tree.ts'

const MODE_BITS = 0o7777

export function directories(layout: NodeLayout, hasCustomers: () => boolean): Step {
  /** What lies under a mount is not to be seen, and was made before it. */
  const tree = () => treeOf(layout).filter(({ path }) => !isMounted(path))
  const isRight = (directory: Directory) => {
    const found = lstatSync(directory.path, { throwIfNoEntry: false })
    if (!found?.isDirectory()) return false
    const { uid, gid } = ownersOf(directory)
    return found.uid === uid && found.gid === gid && (found.mode & MODE_BITS) === directory.mode
  }

  return {
    look: () => tree().map((directory) => ({ what: directory.path, state: isRight(directory) ? 'done' : 'todo' })),

    apply() {
      for (const directory of tree()) {
        const { path, mode } = directory
        ensureDirectory({ path, mode, ...ownersOf(directory) })
      }
    },

    undo() {
      if (hasCustomers()) return [`${layout.sites}: it has files of customers`]
      rmSync(layout.webTemporary, { recursive: true, force: true })
      // The agent's own pages.
      rmSync(layout.states, { recursive: true, force: true })
      rmSync(layout.webPid, { force: true })
      // The test of the configuration makes it.
      if (lstatSync(accessLogOf(layout), { throwIfNoEntry: false })?.size === 0) rmSync(accessLogOf(layout))
      return treeOf(layout)
        .map(({ path }) => path)
        .toReversed()
        .filter((path) => !removeEmpty(path))
        .map((path) => `${path}: it is not empty`)
    },
  }
}

function ownersOf({ owner, group }: Directory) {
  const web = (owner ?? group) ? webOrNobody() : { uid: 0, gid: 0 }
  return { uid: owner ? web.uid : 0, gid: (owner ?? group) ? web.gid : 0 }
}

/** Before the user is made, nothing can be right. */
function webOrNobody() {
  try {
    return webAccount()
  } catch {
    return { uid: -1, gid: -1 }
  }
}

/** @returns whether the directory is gone */
function removeEmpty(path: string): boolean {
  try {
    rmdirSync(path)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return true
    if (['ENOTEMPTY', 'EEXIST', 'EBUSY'].includes(codeOf(error) ?? '')) return false
    throw error
  }
}

/** Whether a subscription has a directory. */
export function hasSubscriptions({ sites }: Pick<NodeLayout, 'sites'>): boolean {
  try {
    return readdirSync(sites).some((name) => /^ncp-s\d+$/.test(name))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw error
  }
}
