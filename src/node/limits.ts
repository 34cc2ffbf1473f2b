/** How much a subscription may take: limits that administrators set, and what they mean for its next release. */
import type { ReleaseLimits } from './protocol.ts'

const MEBIBYTE = 1024 * 1024
const GIBIBYTE = 1024 * MEBIBYTE

/** The least and the most that can be set, and what a new subscription has. */
export const LIMITS = {
  /** Of all its files on its node; 0 means no limit. */
  maxDiskBytes: { minimum: 0, maximum: 1024 * 1024 * GIBIBYTE, default: 0 },
  /** Of one deployment: the archive, and what it becomes unpacked. */
  maxArchiveBytes: { minimum: MEBIBYTE, maximum: 4 * GIBIBYTE, default: 512 * MEBIBYTE },
  maxUnpackedBytes: { minimum: MEBIBYTE, maximum: 64 * GIBIBYTE, default: 2 * GIBIBYTE },
  maxFiles: { minimum: 1, maximum: 1_000_000, default: 100_000 },
} as const

export type Limits = { [Name in keyof typeof LIMITS]: number }

/** What is on the disk, as last measured; null before. */
type Use = { diskBytes: number | null }

/** What is left on the disk; undefined without a limit. */
export function diskLeft({ maxDiskBytes, diskBytes }: Pick<Limits, 'maxDiskBytes'> & Use): number | undefined {
  return maxDiskBytes === 0 ? undefined : Math.max(0, maxDiskBytes - (diskBytes ?? 0))
}

/** No more than fits on the disk. */
export function releaseLimits(of: Limits & Use): ReleaseLimits {
  return { maxBytes: Math.min(of.maxUnpackedBytes, diskLeft(of) ?? Number.MAX_SAFE_INTEGER), maxFiles: of.maxFiles }
}
