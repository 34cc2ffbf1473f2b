/** RFC 3339 timestamps: strict when read, UTC when written. */

const RFC3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt]([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.(\d{1,30}))?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/

/** The years 0000 to 9999, in UTC. */
const MIN_MS = -62_167_219_200_000
const MAX_MS = 253_402_300_799_999

/**
 * Reads an RFC 3339 §5.6 date-time. The offset is required and the calendar is checked, because `Date` takes
 * 30 February, `1` and zone-less local time. A leap second (`:60`, the last of a month in UTC) is read as the last millisecond
 * before it: no Unix time names it, and what ends with its day must not end a day later.
 *
 * @returns milliseconds since the epoch (fractions beyond are cut off), or undefined when the text is not such a time
 */
export function parseTimestamp(text: string): number | undefined {
  const parts = RFC3339.exec(text)
  if (!parts) return undefined
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return undefined
  const milliseconds = Number((parts[7] ?? '').padEnd(3, '0').slice(0, 3))
  const offsetMinutes = (parts[8] === '-' ? -1 : 1) * (Number(parts[9] ?? 0) * 60 + Number(parts[10] ?? 0))
  // Date.UTC reads the years 0 to 99 as 1900 to 1999, so the year is set on its own.
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  const isLeapSecond = second === 60
  date.setUTCHours(hour, minute, isLeapSecond ? 59 : second, isLeapSecond ? 999 : milliseconds)
  const ms = date.getTime() - offsetMinutes * 60_000
  if (isLeapSecond && !isEndOfMonth(ms)) return undefined
  // An offset can carry a time out of the years that RFC 3339 can write.
  return ms >= MIN_MS && ms <= MAX_MS ? ms : undefined
}

/** Whether it is the last millisecond of a month in UTC, where a leap second may follow (ITU-R TF.460). */
function isEndOfMonth(ms: number): boolean {
  const next = new Date(ms + 1)
  return next.getUTCDate() === 1 && next.getUTCHours() === 0 && next.getUTCMinutes() === 0
}

/** @param ms milliseconds since the epoch */
export function formatTimestamp(ms: number): string {
  return new Date(ms).toISOString()
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}
