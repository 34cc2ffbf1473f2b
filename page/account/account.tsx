/** What belongs to the user alone: password, address, second factor, sessions, how the page looks. */
import { useMe } from '../api/me.ts'
import { Loading } from '../parts/loading.tsx'
import { useTitle } from '../parts/title.ts'
import { words } from '../words/words.ts'
import { Appearance } from './appearance.tsx'
import { Email } from './email.tsx'
import { Password } from './password.tsx'
import { Sessions } from './sessions.tsx'
import { TwoFactor } from './two-factor.tsx'

export function Account() {
  const { account } = words
  const me = useMe().data
  useTitle(account.title)
  return (
    <>
      <div class="head">
        <div>
          <h1>{account.title}</h1>
          <p>{me && `${me.user.name}, ${me.user.email}`}</p>
        </div>
      </div>
      {me ? (
        <div class="stack">
          <Password />
          <TwoFactor isOn={me.two_factor_enabled} />
          <Email />
          <Sessions />
          <Appearance />
        </div>
      ) : (
        <Loading />
      )}
    </>
  )
}
