/** `/livez` and `/readyz`, for load balancers and service managers. */
import { Elysia, t } from 'elysia'
import { AppError } from '../../core/errors.ts'
import { envelope } from '../../http/envelope.ts'
import type { Guard } from '../../http/guard.ts'
import { openOperation } from '../../http/operation.ts'

const tag = 'Health'
const HealthModel = t.Object({ status: t.Literal('ok') }, { additionalProperties: false, title: 'Health' })

/** @param options.isReady whether requests can be served: false while starting and draining */
export function healthRoutes({ guard, isReady }: { guard: Guard; isReady(): boolean }) {
  return new Elysia()
    .use(guard)
    .get('/livez', () => envelope({ status: 'ok' as const }), {
      ...openOperation({ id: 'getLiveness', summary: 'Tell that the process answers', tag, data: HealthModel }),
    })
    .get(
      '/readyz',
      () => {
        if (!isReady()) throw new AppError('unavailable', 'Not ready to serve', { 'retry-after': '5' })
        return envelope({ status: 'ok' as const })
      },
      {
        ...openOperation({ id: 'getReadiness', summary: 'Tell whether requests are served', tag, data: HealthModel }),
      },
    )
}
