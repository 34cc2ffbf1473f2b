/** The directories of a node, with their owners and modes. */
import type { NodeLayout } from '../layout.ts'

export type Directory = {
  path: string
  mode: number
  /** Root's otherwise. */
  owner?: 'web'
  /** Root's otherwise. */
  group?: 'web'
}

/** Parents first. */
export const treeOf = (layout: NodeLayout): Directory[] => [
  { path: layout.sites, mode: 0o755 },
  // Whoever could list one of these would read the names of all customers.
  { path: layout.names, mode: 0o750, group: 'web' },
  { path: layout.generations, mode: 0o750, group: 'web' },
  { path: layout.candidates, mode: 0o750, group: 'web' },
  { path: layout.states, mode: 0o750, group: 'web' },
  { path: layout.certificates, mode: 0o750, group: 'web' },
  { path: `${layout.certificates}/by-name`, mode: 0o750, group: 'web' },
  { path: `${layout.certificates}/certs`, mode: 0o750, group: 'web' },
  { path: layout.challenges, mode: 0o750, group: 'web' },
  { path: layout.empty, mode: 0o750, group: 'web' },
  { path: layout.webTemporary, mode: 0o700, owner: 'web', group: 'web' },
  { path: layout.staging, mode: 0o700 },
  { path: layout.trash, mode: 0o700 },
  { path: layout.agent, mode: 0o700 },
  { path: layout.certificateKeys, mode: 0o700 },
  { path: layout.run, mode: 0o755 },
  { path: layout.view, mode: 0o755 },
  { path: layout.phpSockets, mode: 0o711 },
  { path: layout.phpSettings, mode: 0o711 },
  { path: layout.probe, mode: 0o700 },
  { path: layout.settings, mode: 0o755 },
  { path: layout.webSettings, mode: 0o700 },
  { path: layout.sshKeys, mode: 0o711 },
  { path: layout.logs, mode: 0o711 },
  { path: layout.webLogs, mode: 0o750, group: 'web' },
]
