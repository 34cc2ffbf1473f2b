/** Which sites have an environment that anything reads, and what a sealed value of it belongs to. */
import type { SiteRow } from './site-access.ts'

/** PHP runs on nodes alone. */
export const runsPhp = ({ kind, nodeId }: Pick<SiteRow, 'kind' | 'nodeId'>): boolean =>
  kind === 'php' && nodeId !== null

/** A sealed value opens as this variable of this site alone. */
export const variableContext = (siteId: number, name: string): string => `variable ${siteId} ${name}`
