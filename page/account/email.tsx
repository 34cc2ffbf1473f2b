/** Asks for another address, which an email to it has to confirm. */
import { api, done } from '../api/client.ts'
import { Field } from '../parts/field.tsx'
import { ProvenForm } from '../parts/proven-form.tsx'
import { words } from '../words/words.ts'
import { Section } from './section.tsx'

export function Email() {
  const { account, login } = words
  return (
    <Section title={login.email} hint={account.emailHint} action={account.changeEmail}>
      {(close) => (
        <ProvenForm
          password="password"
          submit={account.changeEmail}
          onCancel={() => close()}
          onSubmit={async ({ email = '', password = '', ...code }) => {
            await done(api.POST('/api/v1/auth/email', { body: { email, password, ...code } }))
            close(account.emailSent(email))
          }}
        >
          <Field name="email" type="email" label={account.newEmail} autocomplete="email" required autofocus />
        </ProvenForm>
      )}
    </Section>
  )
}
