/** A panel with two nodes, and customers whose sites are on them. */
import { smallArchive } from '../../../harness/archives.ts'
import { connectNode, type NodeClient } from '../../../harness/node-client.ts'
import { usePanel } from '../../../harness/panel.ts'

export type Place = { subscription: number; site: number; token: string }

export async function useNodes() {
  const panel = await usePanel({ sitesPort: 8080 })
  const one = await connectNode(panel)
  const other = await connectNode(panel)
  let names = 0

  return {
    panel,
    one,
    other,

    /** A site of a new customer, on a node. */
    async newSite({ id }: NodeClient): Promise<Place> {
      const { id: userId, token } = await panel.customer()
      const body = { user_id: userId, name: 'Hosting', node_id: id }
      const { data } = await panel.post<{ id: number }>('/admin/subscriptions', await panel.admin(), body)
      const site = await panel.post<{ id: number }>('/sites', token, { domain: `site-${++names}.example` })
      return { subscription: data.id, site: site.data.id, token }
    },

    deploy: ({ site, token }: Place, rawBody = smallArchive()) =>
      panel.send<{ id: number; sha256: string }>('POST', `/sites/${site}/deployments`, { as: token, rawBody }),

    async shown({ site, token }: Place) {
      return (await panel.get<{ status: string; generation: number }>(`/sites/${site}`, token)).data
    },
  }
}

/** What a node reports of a site that it serves. */
export const serving = ({ subscription, site }: Place, generation = 1) =>
  ({
    subscriptionId: subscription,
    siteId: site,
    generation,
    state: 'serving',
    documentRoot: `/srv/ncp/ncp-s${subscription}/sites/${site}`,
  }) as const
