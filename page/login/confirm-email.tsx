/** Confirms a new email address with the token of an emailed link; not by itself, since programs open links in emails, too. */
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { api, done } from '../api/client.ts'
import { isProblem } from '../api/problem.ts'
import { linkToken } from '../link-token.ts'
import { Form } from '../parts/form.tsx'
import { Note } from '../parts/note.tsx'
import { words } from '../words/words.ts'
import { Frame } from './frame.tsx'

export function ConfirmEmail() {
  const [state, setState] = useState<'open' | 'done' | 'spent'>('open')
  const { confirmEmail, forgot, reset } = words
  const back = <Link href="/login">{forgot.back}</Link>

  async function submit() {
    try {
      await done(api.POST('/api/v1/auth/email/confirm', { body: { token: `${linkToken}` } }))
      setState('done')
    } catch (thrown) {
      if (!isProblem(thrown) || !thrown.fields.has('token')) throw thrown
      setState('spent')
    }
  }

  if (linkToken === undefined) {
    return (
      <Frame title={reset.noTokenTitle}>
        <p>{confirmEmail.noToken}</p>
        {back}
      </Frame>
    )
  }
  if (state === 'done') {
    return (
      <Frame title={confirmEmail.doneTitle}>
        <p role="status">{confirmEmail.done}</p>
        {back}
      </Frame>
    )
  }
  return (
    <Frame title={confirmEmail.title} hint={confirmEmail.hint}>
      {state === 'spent' ? (
        <Note tone="bad">
          <p>{confirmEmail.spent}</p>
        </Note>
      ) : (
        <Form submit={confirmEmail.submit} onSubmit={submit}>
          {null}
        </Form>
      )}
      {back}
    </Frame>
  )
}
