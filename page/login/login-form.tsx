/** Email, password and, once it is asked for, a code: on the page and in the dialog at a session's end. */
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { api, dataOf } from '../api/client.ts'
import { isProblem } from '../api/problem.ts'
import { CodeField, Field, PasswordField } from '../parts/field.tsx'
import { Form, type Values } from '../parts/form.tsx'
import { beginSession } from '../session/session.ts'
import { words } from '../words/words.ts'

type Props = {
  /** Whose session goes on; undefined lets anyone log in. */
  email?: string | undefined
  onDone?: () => void
}

export function LoginForm({ email, onDone }: Props) {
  const [needsCode, setNeedsCode] = useState(false)
  const { login } = words

  async function submit(values: Values) {
    const given = email ?? values.email ?? ''
    const code = values.totp_code?.trim() ?? ''
    const body = { email: given, password: values.password ?? '', ...(code !== '' && { totp_code: code }) }
    try {
      const { token, user } = await dataOf(api.POST('/api/v1/auth/login', { body }))
      onDone?.()
      beginSession(token, user.email)
    } catch (thrown) {
      if (!isProblem(thrown) || thrown.code !== '2fa_required') throw thrown
      setNeedsCode(true)
    }
  }

  return (
    <Form onSubmit={submit} submit={login.submit} class="login-form">
      {email === undefined ? (
        <Field name="email" type="email" label={login.email} autocomplete="username" required autofocus />
      ) : (
        <Field name="email" type="email" label={login.email} autocomplete="username" value={email} readOnly />
      )}
      <PasswordField
        name="password"
        label={login.password}
        autocomplete="current-password"
        required
        aside={
          email === undefined && (
            <Link href="/forgot" class="small">
              {login.forgotten}
            </Link>
          )
        }
      />
      {needsCode && <CodeField />}
    </Form>
  )
}
