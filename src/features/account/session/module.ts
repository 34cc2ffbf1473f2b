/** Sessions: login, logout, and where a user is logged in. */
import type { Module } from '../../../module.ts'
import type { Platform } from '../../../platform.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { Incidents } from '../../operation/audit/incidents.ts'
import type { Usage } from '../credentials/usage.ts'
import type { WriteAs } from '../credentials/write-as.ts'
import type { Notify } from '../notices.ts'
import type { SecondFactor } from '../proof/second-factor.ts'
import type { Throttle } from '../proof/throttle.ts'
import { createLogin } from './login.ts'
import { authRoutes } from './routes.ts'
import { createSessions } from './sessions.ts'

export type SessionNeeds = Platform & {
  audit: RecordAudit
  incidents: Incidents
  usage: Usage
  writeAs: WriteAs
  notify: Notify
  throttle: Throttle
  secondFactor: SecondFactor
}

export function sessionModule(needs: SessionNeeds) {
  const { store, clock, deletableBefore, storedSettings, passwords, tokens } = needs
  const { audit, incidents, usage, writeAs, notify, throttle, secondFactor } = needs
  const sessions = createSessions({ store, clock, audit, writeAs, flushUsage: usage.settle })
  const login = createLogin({
    store,
    clock,
    deletableBefore,
    passwords,
    audit,
    incidents,
    writeAs,
    notify,
    throttle,
    spendCode: secondFactor.spend,
    ttlSeconds: async () => (await storedSettings.read()).jwtTtlSeconds,
  })
  return {
    services: { sessions, login },
    routes: ({ guard }) => [authRoutes({ guard, login, sessions, tokens })],
  } satisfies Module
}
