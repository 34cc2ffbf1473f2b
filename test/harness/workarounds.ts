/** Runs the tests without the workarounds for the runtime: `NCP_DISABLE_WORKAROUNDS=all bun test`. */
import { loadConfig } from '../../src/config/load.ts'

const { NCP_DISABLE_WORKAROUNDS } = process.env

/** For a program that a test starts. */
export const workaroundEnvironment: Record<string, string> =
  NCP_DISABLE_WORKAROUNDS === undefined ? {} : { NCP_DISABLE_WORKAROUNDS }

/** For a program whose test is about a workaround itself. */
export const allWorkarounds = { NCP_DISABLE_WORKAROUNDS: '' }

export const { disableWorkarounds } = loadConfig({}, workaroundEnvironment)

/** For a store that a test opens by itself. */
export const mapsIndex = !disableWorkarounds.includes('wal-index')

/** For a program that must answer others while it waits for the disk. */
export const withDiskThread = {
  NCP_DISABLE_WORKAROUNDS: disableWorkarounds.filter((name) => name !== 'disk-thread').join(','),
}
