/** All that is open to a user who must have a second factor and has none yet. */
import { queryClient } from '../api/queries.ts'
import { Frame } from '../login/frame.tsx'
import { logOut } from '../session/log-out.ts'
import { SessionEnd } from '../session/session-end.tsx'
import { words } from '../words/words.ts'
import { Enrolment } from './enrolment.tsx'

export function EnrolmentRequired() {
  return (
    <Frame title={words.twoFactor.title} hint={words.problems.enrolment}>
      <SessionEnd />
      <Enrolment onDone={() => void queryClient.invalidateQueries()} />
      <button type="button" class="linklike" onClick={logOut}>
        {words.shell.logOut}
      </button>
    </Frame>
  )
}
