/** Formats sizes and times for people. */

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const

/** In powers of 1000, as disks are sold and `ls -h --si` counts: `1.2 GB`. */
export function humanBytes(bytes: number): string {
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), UNITS.length - 1)
  const value = bytes / 1000 ** power
  return `${power === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${UNITS[power]}`
}

/** To the minute, in UTC. @param ms milliseconds since the epoch */
export function humanTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** `1 session`, `2 sessions`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
