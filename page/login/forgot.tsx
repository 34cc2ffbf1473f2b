/** Asks for an email with a link to set a new password. */
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { api, done } from '../api/client.ts'
import { Field } from '../parts/field.tsx'
import { Form } from '../parts/form.tsx'
import { words } from '../words/words.ts'
import { Frame } from './frame.tsx'

export function Forgot() {
  const [sentTo, setSentTo] = useState<string>()
  const { forgot } = words
  const back = <Link href="/login">{forgot.back}</Link>
  if (sentTo !== undefined) {
    return (
      <Frame title={forgot.sentTitle}>
        <p role="status">{forgot.sent(sentTo)}</p>
        {back}
      </Frame>
    )
  }
  return (
    <Frame title={forgot.title} hint={forgot.hint}>
      <Form
        submit={forgot.submit}
        onSubmit={async ({ email = '' }) => {
          await done(api.POST('/api/v1/auth/password-reset', { body: { email } }))
          setSentTo(email)
        }}
      >
        <Field name="email" type="email" label={words.login.email} autocomplete="username" required autofocus />
      </Form>
      {back}
    </Frame>
  )
}
