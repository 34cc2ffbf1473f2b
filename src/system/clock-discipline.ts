/** Whether the clock of this machine is synchronised, as the kernel knows from NTP (adjtimex(2)). */
import { libc } from './libc.ts'

/** Larger than `struct timex` on every machine; with `modes` 0 the call reads and sets nothing. */
const TIMEX_BYTES = 512
/** `status`, after `modes` and four longs of eight bytes, on 64-bit machines. */
const STATUS_OFFSET = 40
const STA_UNSYNC = 0x40

/** @returns undefined where the system doesn't tell */
export function isClockSynchronised(): boolean | undefined {
  try {
    const timex = new DataView(new ArrayBuffer(TIMEX_BYTES))
    if (libc().adjtimex(new Uint8Array(timex.buffer)) < 0) return undefined
    return (timex.getInt32(STATUS_OFFSET, true) & STA_UNSYNC) === 0
  } catch {
    return undefined
  }
}
