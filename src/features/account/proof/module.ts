/** Proof: password and second factor, limits on attempts, and the emails about both. */
import type { Module } from '../../../module.ts'
import type { Platform } from '../../../platform.ts'
import { isCodeRequired } from '../../../settings/stored.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { Incidents } from '../../operation/audit/incidents.ts'
import type { WriteAs } from '../credentials/write-as.ts'
import { createNotify } from '../notices.ts'
import { createWithBothFactors } from './both-factors.ts'
import { createConfirmPassword } from './confirm-password.ts'
import { createSecondFactor } from './second-factor.ts'
import { createThrottle } from './throttle.ts'

export type ProofNeeds = Platform & {
  audit: RecordAudit
  incidents: Incidents
  writeAs: WriteAs
  writeSoonAs: WriteAs
}

export function proofModule(needs: ProofNeeds) {
  const { store, clock, deletableBefore, storageLog: log, secretBox, passwords, outbox, findWording } = needs
  const { audit, incidents, writeAs, writeSoonAs } = needs
  const notify = createNotify({ clock, putMail: outbox.put, findWording })
  const throttle = createThrottle({ store, clock, deletableBefore, log, audit, writeSoonAs, notify })
  const secondFactor = createSecondFactor({
    store,
    clock,
    secretBox,
    incidents,
    writeAs,
    notify,
    throttle,
    isCodeRequired,
  })
  const confirmPassword = createConfirmPassword({ store, incidents, passwords, throttle })
  const withBothFactors = createWithBothFactors({ writeAs, confirmPassword, secondFactor })

  return {
    services: { notify, throttle, secondFactor, confirmPassword, withBothFactors },
    tasks: [{ everyMs: 1000, run: throttle.flush, log, failure: 'emails about many failed attempts not queued' }],
    close: throttle.flush,
  } satisfies Module
}
