/** Our units, and whether systemd runs at all. */
import { lstatSync } from 'node:fs'

export const WEB_UNIT = 'ncp-web.service'
export const AGENT_UNIT = 'ncp-agent.service'
/** Named after its path, as systemd wants it. */
export const VIEW_UNIT = 'run-ncp-view.mount'

/** systemd makes this directory when it is the first process (sd_booted(3)). */
export const hasSystemd = (): boolean =>
  lstatSync('/run/systemd/system', { throwIfNoEntry: false })?.isDirectory() ?? false
