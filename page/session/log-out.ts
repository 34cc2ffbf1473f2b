/** Ends the session at the panel, here and in the other tabs. */
import { api } from '../api/client.ts'
import { putNotice } from '../login/notice.ts'
import { words } from '../words/words.ts'
import { endSession } from './session.ts'

export async function logOut(): Promise<void> {
  // Without an answer, the tabs forget the session all the same; it ends by itself in time.
  await api.POST('/api/v1/auth/logout').catch(() => undefined)
  putNotice(words.login.loggedOut)
  endSession()
}
