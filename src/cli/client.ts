/** What the commands of the client have in common: which panel, which profile, which site. */
import type { Command } from 'commander'
import type { Panel } from '../client/panel.ts'
import { readClientEnvironment } from '../config/load.ts'

export type ProfileOption = { profile?: string }

export function withProfile(command: Command): Command {
  return command.option(
    '--profile <name>',
    "a profile of 'ncp login'; without it NCP_URL and NCP_KEY or NCP_KEY_FILE, or else the profile 'default'",
  )
}

/** Loaded where a command needs it: it would cost every start its time. @throws ClientFailure */
export async function connect({ profile }: ProfileOption): Promise<Panel> {
  const { findTarget } = await import('../client/target.ts')
  const { openPanel } = await import('../client/panel.ts')
  return openPanel(await findTarget(readClientEnvironment(), profile))
}
