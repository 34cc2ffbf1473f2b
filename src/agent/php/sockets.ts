/** The sockets on which sites' PHP is asked: made by root where no customer can write, published by a rename. */
import { chmodSync, chownSync, closeSync, lstatSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type ClientWatch, hasClient, listenAt } from '../../system/listening-socket.ts'
import type { NodeLayout } from '../layout.ts'
import { socketOf } from './pool.ts'

/** Of one master. They are watched for the first client, then handed to one process of PHP-FPM, and never watched again. */
export type SiteSockets = ReturnType<typeof openSockets>

/** The web server connects, and nobody else. */
const MODE = 0o660

export type SocketOptions = {
  layout: Pick<NodeLayout, 'phpSockets'>
  /** The group of the web server. */
  webGid: number
  watch: ClientWatch
}

/**
 * Opens a socket for each site, under a name that no client knows yet.
 *
 * @throws Error of the system; then none is left open
 */
export function openSockets({ layout, webGid, watch }: SocketOptions, siteIds: readonly number[]) {
  const opened = new Map<number, { descriptor: number; inode: number }>()
  const stagedAt = (siteId: number) => join(layout.phpSockets, `.${siteId}.new`)
  let isClosed = false

  function withdraw(): void {
    for (const [siteId, { inode }] of opened) {
      // Not one that another has published since.
      for (const path of [stagedAt(siteId), socketOf(layout, siteId)]) if (inodeOf(path) === inode) rmSync(path)
    }
  }

  function close(): void {
    if (isClosed) return
    isClosed = true
    withdraw()
    for (const { descriptor } of opened.values()) {
      watch.release(descriptor)
      closeSync(descriptor)
    }
  }

  try {
    for (const siteId of siteIds) {
      const path = stagedAt(siteId)
      rmSync(path, { force: true })
      const descriptor = listenAt(path)
      opened.set(siteId, { descriptor, inode: inodeOf(path) ?? 0 })
      chownSync(path, 0, webGid)
      chmodSync(path, MODE)
    }
  } catch (error) {
    close()
    throw error
  }

  return {
    siteIds,

    /** By the path that clients know. */
    descriptors: (): ReadonlyMap<string, number> =>
      new Map([...opened].map(([siteId, { descriptor }]) => [socketOf(layout, siteId), descriptor])),

    /** New clients come here from now on; those who have connected elsewhere stay there. */
    publish(): void {
      for (const siteId of siteIds) renameSync(stagedAt(siteId), socketOf(layout, siteId))
    },

    /** No new clients from now on; those who have connected are still served. */
    withdraw,

    /** Whether they are where clients look, as they were made. */
    arePublished: (): boolean =>
      [...opened].every(([siteId, { inode }]) => inodeOf(socketOf(layout, siteId)) === inode),

    watch(onClient: () => void): void {
      for (const { descriptor } of opened.values()) watch.watch(descriptor, onClient)
    },

    /** Before they are handed over: see `createClientWatch`. */
    release(): void {
      for (const { descriptor } of opened.values()) watch.release(descriptor)
    },

    hasClient: (): boolean => !isClosed && [...opened.values()].some(({ descriptor }) => hasClient(descriptor)),

    /** Clients are refused from now on. */
    close,
  }
}

const inodeOf = (path: string): number | undefined => lstatSync(path, { throwIfNoEntry: false })?.ino
