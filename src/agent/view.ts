/** As what the web server sees the sites: through a mount that follows no link, where the node has it. */
import type { NodeLayout } from './layout.ts'
import { followsNoLinks } from './mounts.ts'

/** The directory that stands for `sites`. */
export const viewOf = ({ view, sites }: Pick<NodeLayout, 'view' | 'sites'>): string =>
  followsNoLinks(view) ? view : sites
