/** Asks a release of a static site for its health path, as a visitor would be answered once it is served. */
import { type CheckHealth, reasonOfStatus } from '../node/health.ts'
import type { DesiredSite } from '../node/protocol.ts'
import { createCompressedFiles } from './compressed-files.ts'
import { createSendFile } from './send-file.ts'
import { serveSite } from './serve-site.ts'
import type { SiteFiles } from './site-files.ts'
import { rootOf } from './site-root.ts'

/** @returns undefined for a site without a health path */
export function createCheckHealth(files: SiteFiles) {
  const sendFile = createSendFile(createCompressedFiles())

  return (site: DesiredSite): CheckHealth | undefined => {
    const { healthPath = null, names, spa } = site
    if (healthPath === null) return undefined
    return async (number) => {
      const wanted = await rootOf(files, { ...site, release: number })
      if (!wanted.ok || wanted.root === undefined) return wanted.ok ? undefined : wanted.failure.message
      const url = new URL(`http://${names[0]}${healthPath}`)
      const { status, headers } = await serveSite(new Request(url.href), url, { root: wanted.root, spa }, sendFile)
      return reasonOfStatus(healthPath, status, headers.location)
    }
  }
}
