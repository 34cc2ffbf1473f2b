/** Tells the panel what was observed, each thing once. */
import type { NodeLink, NodeStatus, SiteReport } from './protocol.ts'

export type News = {
  sites?: SiteReport[]
  removedSubscriptions?: number[]
  node?: NodeStatus
}

export function createReporter(link: NodeLink) {
  /** By site, what was reported last. */
  const reported = new Map<number, string>()
  let reportedNode: string | undefined

  const isNew = (site: SiteReport) => hasRepairs(site) || reported.get(site.siteId) !== textOf(site)

  return {
    /** @throws Error when the panel does not take it; then it is news the next time too */
    async send({ sites = [], removedSubscriptions = [], node }: News): Promise<void> {
      const news = sites.filter(isNew)
      const newNode = node && JSON.stringify(node) !== reportedNode ? node : undefined
      if (news.length === 0 && removedSubscriptions.length === 0 && !newNode) return
      await link.report({ sites: news, releases: [], removedSubscriptions, ...(newNode && { node: newNode }) })
      for (const site of news) {
        if (site.state === 'removed') reported.delete(site.siteId)
        else reported.set(site.siteId, textOf(site))
      }
      if (newNode) reportedNode = JSON.stringify(newNode)
    },
  }
}

const hasRepairs = (site: SiteReport) => 'repaired' in site && site.repaired !== undefined

/** Without what was repaired, which was so once. */
const textOf = (site: SiteReport) => JSON.stringify({ ...site, repaired: undefined })
