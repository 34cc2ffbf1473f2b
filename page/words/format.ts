/** Times and sizes, as the reader's language and region write them. */
import { locale } from './words.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const dateTime = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })
const date = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' })
const clock = new Intl.DateTimeFormat(locale, { timeStyle: 'short' })
const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
const number = new Intl.NumberFormat(locale)

export const formatDateTime = (time: string | number): string => dateTime.format(new Date(time))
export const formatDate = (time: string | number): string => date.format(new Date(time))
export const formatClock = (time: string | number): string => clock.format(new Date(time))
export const formatNumber = (value: number): string => number.format(value)

/** Such as "2 minutes ago" or "in 8 days"; a date where that says more. */
export function formatRelative(time: string | number, now = Date.now()): string {
  const distance = new Date(time).getTime() - now
  const size = Math.abs(distance)
  if (size < MINUTE) return relative.format(0, 'second')
  if (size < HOUR) return relative.format(Math.trunc(distance / MINUTE), 'minute')
  if (size < DAY) return relative.format(Math.trunc(distance / HOUR), 'hour')
  if (size < 14 * DAY) return relative.format(Math.trunc(distance / DAY), 'day')
  return formatDate(time)
}

const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const

export function formatBytes(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3))
  const options = { style: 'unit', unit: UNITS[power], unitDisplay: 'short', maximumFractionDigits: 1 } as const
  return new Intl.NumberFormat(locale, options).format(bytes / 1000 ** power)
}
