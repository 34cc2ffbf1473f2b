/** The clock: kept right by something, and not behind what the panel has written. */
import { dataPaths } from '../../data-directory.ts'
import { newestAuditEntryAt } from '../../db/sqlite/newest.ts'
import { isClockSynchronised } from '../../system/clock-discipline.ts'
import { uses } from '../../system/workarounds.ts'
import { humanTime } from '../units.ts'
import { holdsPanel } from './data-directory.ts'
import { type Finding, failed, orOk, type Situation, warning } from './finding.ts'

const AHEAD_MS = 60_000

export function checkClock({ config, clock }: Situation): Finding[] {
  const { data } = config
  const problems: Finding[] = []
  const now = clock.now()
  const newest = holdsPanel(data) ? newestAuditEntryAt(dataPaths(data).database) : undefined
  if (newest !== undefined && newest - now > AHEAD_MS) {
    problems.push(
      failed(
        `it is ${humanTime(now)}, and the newest audit entry is of ${humanTime(newest)}: the clock is behind, or was ahead`,
        'set the clock right; what was written with the wrong one keeps its time',
      ),
    )
  }
  if (uses(config, 'clock-status') && isClockSynchronised() === false) {
    problems.push(
      warning(
        'nothing keeps the clock right (NTP), and codes of two-factor authentication depend on it',
        'install chrony or systemd-timesyncd; in a container, look at the host',
      ),
    )
  }
  return orOk(problems, `${humanTime(now)}, and not behind what was written`)
}
