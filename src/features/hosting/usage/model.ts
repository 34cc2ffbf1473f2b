/** The schemas of `/sites/:id/usage`. */
import { t } from 'elysia'
import { AppError } from '../../../core/errors.ts'
import { formatTimestamp, parseTimestamp } from '../../../core/timestamp.ts'
import { integerOut, timestampIn, timestampOut } from '../../../http/schema.ts'
import { inSubscription } from '../model.ts'
import { HOUR_MS, type HourRow } from './usage.ts'

const DEFAULT_MS = 7 * 24 * HOUR_MS

export const usageQuery = {
  ...inSubscription,
  from: t.Optional({ ...timestampIn(), description: 'From the hour of this time on; a week before `to` when absent' }),
  to: t.Optional({ ...timestampIn(), description: 'Up to this time; now when absent' }),
}

type UsageQuery = { from?: string; to?: string }

const count = (description?: string) =>
  integerOut({ minimum: 0, examples: [120], ...(description !== undefined && { description }) })

export const UsageHour = t.Object(
  {
    hour: timestampOut(),
    requests: count(),
    bytes: count('Sent to visitors'),
    statuses: t.Object(
      { '1xx': count(), '2xx': count(), '3xx': count(), '4xx': count(), '5xx': count() },
      { additionalProperties: false, description: 'Requests by the class of their status' },
    ),
  },
  { additionalProperties: false, title: 'UsageHour' },
)

export function toUsageHour(row: HourRow) {
  return {
    hour: formatTimestamp(row.hour),
    requests: row.requests,
    bytes: row.bytes,
    statuses: {
      '1xx': row.informational,
      '2xx': row.successful,
      '3xx': row.redirected,
      '4xx': row.clientErrors,
      '5xx': row.serverErrors,
    },
  }
}

/**
 * The hours that a request asks for.
 *
 * @param now milliseconds since the epoch
 * @throws AppError `validation_error`
 */
export function toRange({ from, to }: UsageQuery, now: number): { from: number; to: number } {
  const end = to === undefined ? now : requireTime(to)
  const start = from === undefined ? end - DEFAULT_MS : requireTime(from)
  if (start > end) throw new AppError('validation_error', 'from: must not be after to')
  return { from: start - (start % HOUR_MS), to: end }
}

function requireTime(text: string): number {
  const time = parseTimestamp(text)
  if (time === undefined) throw new AppError('validation_error')
  return time
}
