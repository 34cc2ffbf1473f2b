/** As what the web server sees the sites: through a mount that follows no link, where the node has it. */
import { readFileSync } from 'node:fs'
import type { NodeLayout } from './layout.ts'

/** The directory that stands for `sites`. */
export function viewOf({ view, sites }: Pick<NodeLayout, 'view' | 'sites'>): string {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
  const isGuarded = mounts.some(
    ([, , , , path, options]) => path === view && options?.split(',').includes('nosymfollow'),
  )
  return isGuarded ? view : sites
}
