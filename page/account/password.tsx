/** Changes the password, which ends the other sessions. */
import { api, done } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'
import { PasswordField } from '../parts/field.tsx'
import { ProvenForm } from '../parts/proven-form.tsx'
import { words } from '../words/words.ts'
import { Section } from './section.tsx'

export function Password() {
  const { account, reset } = words
  return (
    <Section title={account.password} hint={account.passwordHint} action={account.changePassword}>
      {(close) => (
        <ProvenForm
          password="current_password"
          submit={account.changePassword}
          onCancel={() => close()}
          onSubmit={async ({ current_password = '', new_password = '', ...code }) => {
            await done(api.POST('/api/v1/auth/password', { body: { current_password, new_password, ...code } }))
            void queryClient.invalidateQueries({ queryKey: ['sessions'] })
            close(account.passwordChanged)
          }}
        >
          <PasswordField
            name="new_password"
            label={reset.password}
            hint={reset.passwordHint}
            autocomplete="new-password"
            required
            autofocus
          />
        </ProvenForm>
      )}
    </Section>
  )
}
