/** The clock: whether something synchronises it, and whether it is behind what the panel has written. */
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
        `it is ${humanTime(now)}, but the newest audit entry is from ${humanTime(newest)}: the clock is behind, or was ahead`,
        'correct the clock; entries written with the wrong time keep it',
      ),
    )
  }
  if (uses(config, 'clock-status') && isClockSynchronised() === false) {
    problems.push(
      warning(
        'the clock is not synchronised (NTP), but two-factor codes depend on it',
        'install chrony or systemd-timesyncd; in a container, do so on the host',
      ),
    )
  }
  return orOk(problems, `${humanTime(now)}, not behind the newest audit entry`)
}
