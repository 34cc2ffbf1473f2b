/** The status of a site, as its node observes it. */
import type { Schemas } from '../api/client.ts'
import { words } from '../words/words.ts'

export type Site = Schemas['Site']
type Status = keyof typeof words.sites.statuses

const TONES: Record<Status, string> = {
  provisioning: 'busy',
  active: 'ok',
  suspended: 'warn',
  disabled: '',
  failed: 'bad',
  deleting: 'busy',
}

/** Whether its node has still to report on the last change. */
export const isInProgress = (site: Site): boolean =>
  site.status === 'deleting' || (site.serving.driver !== null && site.observed_generation < site.generation)

export const needsAttention = ({ status }: Site): boolean => status === 'failed' || status === 'suspended'

export function SiteStatus({ site }: { site: Site }) {
  const status = site.status as Status
  const isUpdating = status === 'active' && isInProgress(site)
  return (
    <span class={`pill ${isUpdating ? 'busy' : TONES[status]}`}>
      {isUpdating ? words.sites.updating : words.sites.statuses[status]}
    </span>
  )
}
