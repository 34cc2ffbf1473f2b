/** An authenticator app, and the enrolment with it. */
import { expect } from 'bun:test'
import { TOTP } from 'otpauth'
import { PASSWORD, type Panel } from './panel.ts'

export type Enrolled = {
  /** A code that was not used yet: the clock goes on to its step. */
  freshCode(): string
  recoveryCodes: string[]
}

/** Switches two-factor authentication on for the token's user. */
export async function enrol(panel: Panel, token: string, password: string = PASSWORD): Promise<Enrolled> {
  const setup = await panel.post<{ secret: string }>('/auth/2fa/setup', token, { password })
  const { secret } = setup.data
  const code = () => new TOTP({ secret }).generate({ timestamp: panel.clock.now() })
  const enabled = await panel.post<{ recovery_codes: string[] }>('/auth/2fa/enable', token, { totp_code: code() })
  expect(enabled.status).toBe(200)
  return {
    freshCode() {
      panel.clock.advance(30)
      return code()
    },
    recoveryCodes: enabled.data.recovery_codes,
  }
}
