/** Health: whether the panel can serve, for load balancers and service managers. */
import { hasOurSchema } from '../../../db/probe.ts'
import type { Module } from '../../../module.ts'
import type { Platform } from '../../../platform.ts'
import { createHealth } from './health.ts'
import { healthRoutes } from './routes.ts'

export function healthModule({ config, clock, store, probe, outbox, certificate, readiness }: Platform) {
  const health = createHealth({
    clock,
    directory: config.data,
    isServing: readiness.is,
    probe,
    storeTrouble: store.trouble,
    hasOurSchema: () => hasOurSchema(store),
    certificateExpiresAt: () => certificate.get()?.expiresAt,
    emailsWaitingSince: outbox.waitingSince,
  })
  return {
    services: { health },
    rootRoutes: ({ guard }) => [healthRoutes({ guard, check: health.check })],
  } satisfies Module
}
