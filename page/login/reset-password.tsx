/** Sets a password with the token of an emailed link: a new one, or the first. */
import { useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { api, done } from '../api/client.ts'
import { isProblem } from '../api/problem.ts'
import { linkToken } from '../link-token.ts'
import { PasswordField } from '../parts/field.tsx'
import { Form } from '../parts/form.tsx'
import { Note } from '../parts/note.tsx'
import { words } from '../words/words.ts'
import { Frame } from './frame.tsx'
import { putNotice } from './notice.ts'

export function ResetPassword({ isActivation = false }: { isActivation?: boolean }) {
  const [, navigate] = useLocation()
  const [isSpent, setSpent] = useState(false)
  const { reset } = words
  const askAgain = <Link href="/forgot">{reset.askAgain}</Link>
  if (linkToken === undefined) {
    return (
      <Frame title={reset.noTokenTitle}>
        <p>{reset.noToken}</p>
        {askAgain}
      </Frame>
    )
  }

  async function submit({ password = '' }) {
    try {
      await done(api.POST('/api/v1/auth/password-reset/confirm', { body: { token: `${linkToken}`, password } }))
    } catch (thrown) {
      if (!isProblem(thrown) || !thrown.fields.has('token')) throw thrown
      setSpent(true)
      return
    }
    putNotice(words.login.passwordSet)
    navigate('/login')
  }

  return (
    <Frame title={isActivation ? reset.activateTitle : reset.title} {...(isActivation && { hint: reset.activateHint })}>
      {isSpent ? (
        <>
          <Note tone="bad">
            <p>{reset.spent}</p>
          </Note>
          {askAgain}
        </>
      ) : (
        <Form submit={reset.submit} onSubmit={submit}>
          <PasswordField
            name="password"
            label={reset.password}
            hint={reset.passwordHint}
            autocomplete="new-password"
            required
            autofocus
          />
        </Form>
      )}
    </Frame>
  )
}
