/** The schemas of `/livez` and `/readyz`. */
import { t } from 'elysia'
import { choice, closed } from '../../../http/schema.ts'
import { CHECKS, type Check, type Checks } from './health.ts'

export const HealthModel = t.Object({ status: t.Literal('ok') }, { additionalProperties: false, title: 'Health' })

/** `?verbose`, with or without a value. */
export const VerboseQuery = closed({
  verbose: t.Optional(choice(['', 'true'], 'Include each check; may be given without a value')),
})

const CheckModel = t.Object(
  {
    status: choice(['ok', 'warning']),
    reason: t.Union([t.String({ examples: ['expires in 5 days'] }), t.Null()]),
  },
  { additionalProperties: false, title: 'Check' },
)

export const ReadinessModel = t.Object(
  {
    status: t.Literal('ok'),
    checks: t.Optional(
      t.Object(
        Object.fromEntries(CHECKS.map((name) => [name, CheckModel])) as Record<keyof Checks, typeof CheckModel>,
        { additionalProperties: false, description: 'With `verbose` only' },
      ),
    ),
  },
  { additionalProperties: false, title: 'Readiness' },
)

export function toChecks(checks: Checks) {
  return Object.fromEntries(CHECKS.map((name) => [name, toCheck(checks[name])]))
}

function toCheck(check: Check) {
  return { status: check.status, reason: check.status === 'ok' ? null : check.reason }
}
