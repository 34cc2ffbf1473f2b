/** What serves sites, by its own means; the reconciler tells it which, and when. Every call may be made again. */
import type { DesiredSite, DesiredSubscription, Failure } from './protocol.ts'

/** What a visitor gets of a site. */
export type Observed =
  | {
      state: 'serving' | 'suspended' | 'disabled'
      /** Absolute, on the node. */
      documentRoot: string
      /** What was not as it had been left, in words for the operator. */
      repaired?: string[]
    }
  | { state: 'failed'; failure: Failure }

export type Driver = {
  /**
   * Makes a site what it should be, and looks whether it is served so. What was served before goes on until then.
   *
   * @returns undefined where nothing serves sites
   * @throws Error of the system; it is tried again
   */
  serve(subscription: DesiredSubscription, site: DesiredSite): Promise<Observed | undefined>

  /** What a subscription needs beside its sites, before them. @throws Error of the system; it is tried with the next change */
  ensureSubscription?(subscription: DesiredSubscription): Promise<void>

  /** Serves a site no more, and moves its files to the trash. @throws Error of the system; it is tried again */
  remove(subscriptionId: number, siteId: number): Promise<void>

  /** Removes what is left of a subscription, after its last site. @throws Error of the system; it is tried again */
  removeSubscription(subscriptionId: number): Promise<void>

  /** The ids of the sites that are served. */
  servedSites(): Promise<number[]>

  /** Serves a site no more, and keeps its files. */
  stopServing(siteId: number): Promise<void>

  /** The ids of the sites that have files. */
  sitesWithFiles(): Promise<number[]>

  /** Ends what is under way; what is served stays served. */
  stop(): Promise<void>
}

/** `suspended` before `disabled`: the operator's word before the customer's. */
export function stateOf(subscription: DesiredSubscription, site: DesiredSite): 'serving' | 'suspended' | 'disabled' {
  if (subscription.state === 'suspended') return 'suspended'
  return site.state === 'disabled' ? 'disabled' : 'serving'
}

/** The releases that a site still needs on disk. */
export const numbersToKeep = ({ release, kept, toUnpack }: DesiredSite): Set<string> =>
  new Set([release, ...kept, ...toUnpack.map(({ number }) => number)].map(String))
