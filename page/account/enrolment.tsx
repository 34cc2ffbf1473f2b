/** Sets up the second factor: password, QR code, a code, and the recovery codes to save. */
import { useEffect, useState } from 'preact/hooks'
import { api, dataOf, type Schemas } from '../api/client.ts'
import { Copy } from '../parts/copy.tsx'
import { Field } from '../parts/field.tsx'
import { Form } from '../parts/form.tsx'
import { ProvenForm } from '../parts/proven-form.tsx'
import { words } from '../words/words.ts'
import { RecoveryCodes } from './recovery-codes.tsx'

type Setup = Schemas['TwoFactorSetup']

type Props = {
  /** Called once it is on, while the recovery codes are still shown. */
  onEnabled?(): void
  /** Called once they are saved. */
  onDone(): void
  onCancel?: () => void
}

export function Enrolment({ onEnabled, onDone, onCancel }: Props) {
  const [setup, setSetup] = useState<Setup>()
  const [codes, setCodes] = useState<readonly string[]>()
  const { twoFactor } = words
  if (codes) return <RecoveryCodes codes={codes} onDone={onDone} />
  if (!setup) {
    return (
      <ProvenForm
        password="password"
        submit={twoFactor.next}
        onCancel={onCancel}
        onSubmit={async ({ password = '' }) =>
          setSetup(await dataOf(api.POST('/api/v1/auth/2fa/setup', { body: { password } })))
        }
      >
        {null}
      </ProvenForm>
    )
  }
  return (
    <Form
      submit={twoFactor.enable}
      onCancel={onCancel}
      onSubmit={async ({ totp_code = '' }) => {
        const body = { totp_code: totp_code.trim() }
        const { recovery_codes } = await dataOf(api.POST('/api/v1/auth/2fa/enable', { body }))
        onEnabled?.()
        setCodes(recovery_codes)
      }}
    >
      <p>{twoFactor.scan}</p>
      <QrCode svg={setup.qr_svg} />
      <div>
        <p class="hint">{twoFactor.byHand}</p>
        <Copy text={setup.secret} label={twoFactor.secret} />
      </div>
      <Field name="totp_code" label={twoFactor.code} class="input code" autocomplete="one-time-code" required />
    </Form>
  )
}

/** As an image, which runs no script and becomes no markup, whatever is in it. */
function QrCode({ svg }: { svg: string }) {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }))
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [svg])
  return url === undefined ? null : <img class="qr" src={url} alt={words.twoFactor.qr} width={200} height={200} />
}
