/** A form of what takes the password, and a code where there is a second factor. */
import { useState } from 'preact/hooks'
import { isProblem, Problem } from '../api/problem.ts'
import { words } from '../words/words.ts'
import { CodeField, PasswordField } from './field.tsx'
import { Form, type FormProps, type Values } from './form.tsx'

type Props = Omit<FormProps, 'onSubmit'> & {
  onSubmit(values: Values & { totp_code?: string }): Promise<unknown>
  /** The name of the field of the current password; undefined where none is asked for. */
  password?: 'password' | 'current_password'
  /** Whether a code is asked for from the start. */
  needsCode?: boolean
}

export function ProvenForm({ onSubmit, password, children, ...form }: Props) {
  const [needsCode, setNeedsCode] = useState(form.needsCode ?? false)

  async function submit({ totp_code, ...values }: Values) {
    try {
      const code = totp_code?.trim() ?? ''
      await onSubmit({ ...values, ...(code !== '' && { totp_code: code }) })
    } catch (thrown) {
      if (!isProblem(thrown)) throw thrown
      if (thrown.code === 'invalid credentials' && password !== undefined) {
        throw new Problem('wrong password', `${password}: ${words.problems.wrongPassword}`, 422)
      }
      if (thrown.code !== '2fa_required' || needsCode) throw thrown
      setNeedsCode(true)
    }
  }

  return (
    <Form {...form} onSubmit={submit}>
      {children}
      {password !== undefined && (
        <PasswordField name={password} label={words.account.currentPassword} autocomplete="current-password" required />
      )}
      {needsCode && <CodeField />}
    </Form>
  )
}
