/** A panel whose sites a test serves: it is the node, and uploads over sockets of its own. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { smallArchive } from '../../../harness/archives.ts'
import { openConnection } from '../../../harness/connection.ts'
import { requireUploadRoom } from '../../../harness/directory.ts'
import { type RequestOptions, usePanel } from '../../../harness/panel.ts'

export type Deployment = {
  id: number
  number: number
  site_id: number
  status: string
  sha256: string
  archive_bytes: number
  bytes: number | null
  files: number | null
  message: string | null
  commit: string | null
  created_by: number | null
  activated_at: string | null
  failure: object | null
}

export type World = Awaited<ReturnType<typeof useDeployments>>

export async function useDeployments() {
  // A port is configured, and nothing listens on it: the test is the node.
  const panel = await usePanel({ sitesPort: 8080 })
  requireUploadRoom(panel.data)
  let names = 0

  /** A new customer with a subscription and a site. */
  async function newSite() {
    const owner = await panel.customer()
    const subscription = await panel.subscription(owner.id)
    const domain = `site-${++names}.example`
    const site = (await panel.post<{ id: number }>('/sites', owner.token, { domain })).data.id
    return { owner, subscription, site, path: `/sites/${site}/deployments` }
  }

  type Place = Awaited<ReturnType<typeof newSite>>

  return {
    panel,
    newSite,

    upload: ({ owner, path }: Place, { query = '', ...options }: RequestOptions & { query?: string } = {}) =>
      panel.send<Deployment>('POST', path + query, { as: owner.token, rawBody: smallArchive(), ...options }),

    list: async ({ owner, path }: Place) => (await panel.get<Deployment[]>(`${path}?limit=1000`, owner.token)).data,

    /** Everything in the directory of archives. */
    onDisk: (): string[] => {
      const directory = join(panel.data, 'sites', 'archives')
      return existsSync(directory) ? readdirSync(directory).sort() : []
    },

    /** What the node reports of a deployment. */
    report: ({ site }: Place, deploymentId: number, result: object) =>
      panel.services.takeReport(null, {
        sites: [],
        releases: [{ siteId: site, deploymentId, ...result } as never],
        removedSubscriptions: [],
      }),

    /** The head of an upload, on a connection of its own; the body is the test's to send. */
    async begin({ owner, path }: Place, length: number, headers = '') {
      const connection = await openConnection(Number(new URL(panel.origin).port))
      connection.write(
        `POST /api/v1${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${owner.token}\r\n` +
          `Content-Length: ${length}\r\n${headers}\r\n`,
      )
      return connection
    },
  }
}
