/** The audit log: what is recorded, what can be read, and how long entries are kept. */
import type { Module } from '../../../module.ts'
import type { Platform } from '../../../platform.ts'
import { createAudit } from './audit.ts'
import { createIncidents } from './incidents.ts'
import { createRetention } from './retention.ts'
import { auditRoutes } from './routes.ts'
import { createAuditSums } from './sums.ts'

export function auditModule({ store, clock, isClockSteady, storedSettings, log, storageLog }: Platform) {
  const auditLog = createAudit({ store, clock })
  const { record } = auditLog
  const incidents = createIncidents({ store, clock, record })
  const auditSums = createAuditSums({ store, clock, append: auditLog.append })
  const days = async () => (await storedSettings.read()).auditRetentionDays
  const retention = createRetention({ store, clock, record, days })

  return {
    services: { auditLog, audit: record, incidents, auditSums, auditRetention: retention },
    routes: ({ guard }) => [auditRoutes({ guard, audit: auditLog })],
    tasks: [
      { everyMs: 5000, run: auditSums.flush, log: storageLog, failure: 'sums of the audit log not written' },
      {
        everyMs: 5000,
        run: () => incidents.flush(),
        log: storageLog,
        failure: 'failures and refusals not written to the audit log',
      },
      {
        everyMs: 60 * 60 * 1000,
        run: async (stopping) => isClockSteady() && retention.prune(stopping),
        log,
        failure: 'old audit entries not deleted',
      },
    ],
    close: () => incidents.flush({ everything: true }),
  } satisfies Module
}
