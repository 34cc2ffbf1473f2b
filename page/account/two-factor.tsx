/** The second factor: on, off, new recovery codes. */
import { useState } from 'preact/hooks'
import { api, dataOf, done } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'
import { ProvenForm } from '../parts/proven-form.tsx'
import { words } from '../words/words.ts'
import { Enrolment } from './enrolment.tsx'
import { RecoveryCodes } from './recovery-codes.tsx'
import { Section } from './section.tsx'

const refreshMe = () => queryClient.invalidateQueries({ queryKey: ['me'] })

export function TwoFactor({ isOn }: { isOn: boolean }) {
  const { twoFactor } = words
  // The codes of an enrolment are shown after it is on, and until they are saved.
  const [isEnrolling, setEnrolling] = useState(false)
  if (!isOn || isEnrolling) {
    return (
      <Section key="off" title={twoFactor.title} hint={twoFactor.offHint} action={twoFactor.setUp}>
        {(close) => (
          <Enrolment
            onEnabled={() => setEnrolling(true)}
            onCancel={() => close()}
            onDone={async () => {
              await refreshMe()
              setEnrolling(false)
            }}
          />
        )}
      </Section>
    )
  }
  return (
    <>
      <NewCodes />
      <Section key="on" title={twoFactor.switchOff} hint={twoFactor.switchOffHint} action={twoFactor.switchOff}>
        {(close) => (
          <ProvenForm
            password="password"
            needsCode
            tone="bad"
            submit={twoFactor.switchOff}
            onCancel={() => close()}
            onSubmit={async ({ password = '', totp_code = '' }) => {
              await done(api.POST('/api/v1/auth/2fa/disable', { body: { password, totp_code } }))
              await refreshMe()
            }}
          >
            {null}
          </ProvenForm>
        )}
      </Section>
    </>
  )
}

function NewCodes() {
  const { twoFactor } = words
  const [codes, setCodes] = useState<readonly string[]>()
  return (
    <Section title={twoFactor.title} hint={twoFactor.onHint} action={twoFactor.newCodes}>
      {(close) =>
        codes ? (
          <RecoveryCodes
            codes={codes}
            onDone={() => {
              setCodes(undefined)
              close()
            }}
          />
        ) : (
          <ProvenForm
            password="password"
            needsCode
            submit={twoFactor.newCodes}
            onCancel={() => close()}
            onSubmit={async ({ password = '', totp_code = '' }) => {
              const body = { password, totp_code }
              setCodes((await dataOf(api.POST('/api/v1/auth/2fa/recovery-codes', { body }))).recovery_codes)
            }}
          >
            {null}
          </ProvenForm>
        )
      }
    </Section>
  )
}
