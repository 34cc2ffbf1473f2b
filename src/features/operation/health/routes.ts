/** `/livez` and `/readyz`, for load balancers and service managers. */
import { Elysia } from 'elysia'
import { AppError } from '../../../core/errors.ts'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import { type OpenCall, openOperation } from '../../../http/operation.ts'
import { failuresOf, type Health } from './health.ts'
import { HealthModel, ReadinessModel, toChecks, VerboseQuery } from './model.ts'

const tag = 'Health'

const operations = {
  getLiveness: openOperation({
    id: 'getLiveness',
    summary: 'Check that the process answers',
    description: 'Checks nothing else. For a service manager that restarts a process when it hangs.',
    tag,
    data: HealthModel,
  }),
  getReadiness: openOperation({
    id: 'getReadiness',
    summary: 'Check that the panel serves requests',
    description:
      'Fails with 503 while starting and stopping, when the database does not answer, when its disk fails to keep a change, when its files were moved or deleted, when a newer version has migrated it, and when the disk is full. A `warning` is for the operator; requests are still served.',
    tag,
    query: VerboseQuery,
    data: ReadinessModel,
  }),
}

export function healthRoutes({ guard, check }: { guard: Guard; check: Health['check'] }) {
  const getLiveness = () => envelope({ status: 'ok' as const })

  async function getReadiness({ query }: OpenCall<typeof operations.getReadiness>) {
    const checks = await check()
    const failures = failuresOf(checks)
    if (failures !== undefined) throw new AppError('unavailable', `Not ready: ${failures}`, { 'retry-after': '5' })
    return envelope({
      status: 'ok' as const,
      ...(query.verbose !== undefined && { checks: toChecks(checks) }),
    })
  }

  return new Elysia()
    .use(guard)
    .get('/livez', getLiveness, operations.getLiveness)
    .get('/readyz', getReadiness, operations.getReadiness)
}
