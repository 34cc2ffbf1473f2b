/** What a node says of itself, as it is stored. */
import type { Held } from '../../../node/protocol.ts'

export type Capabilities = {
  /** That are installed, such as `8.4`, the newest first. */
  phpVersions: string[]
}

/** @param stored JSON; null or undefined for a node that has said nothing */
export function readCapabilities(stored: string | null | undefined): Capabilities {
  return { phpVersions: [], ...(stored && JSON.parse(stored)) }
}

export type Status = {
  /** Why it does nothing of what it is told; null: it does. */
  held: Held | null
  /** Sites with files that nobody named to it. */
  orphans: number[]
}

/** @param stored JSON; null for a node that has said nothing */
export function readStatus(stored: string | null): Status {
  return { held: null, orphans: [], ...(stored && JSON.parse(stored)) }
}
