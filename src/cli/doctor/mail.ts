/** The mail server: connects over TLS, logs in, and sends a test email on request. */
import { configuredMailer } from '../../mail/mailer.ts'
import { hostOf } from './certificate.ts'
import { type Finding, failed, ok, type Situation, warning } from './finding.ts'

/** @param sendTo gets an email */
export async function checkMail({ config }: Situation, sendTo: string | undefined): Promise<Finding[]> {
  const mailer = configuredMailer(config, async () => hostOf(config.publicUrl)[0] ?? 'ncp')
  if (!mailer || !config.mailServer) {
    const next = 'set smtp_url_file, mail_from and public_url'
    const message =
      'no mail server is set: users cannot reset a password by email, and get no notices about their accounts'
    return [sendTo === undefined ? warning(message, next) : failed(message, next)]
  }
  const { host, port, credentials } = config.mailServer
  const signal = AbortSignal.timeout(9000)
  try {
    await mailer.verify()
    if (sendTo === undefined)
      return [
        ok(
          `${host} port ${port} ${credentials ? 'accepts the login' : 'accepts connections'}`,
          '--send-mail sends a test email',
        ),
      ]
    const text = "ncp doctor on the panel's server sent this email. Sending works."
    await mailer.send({ to: sendTo, subject: 'Test email of the panel', text }, signal)
    return [ok(`${host} port ${port} accepted an email to ${sendTo}`, 'check that it arrives, and not as spam')]
  } catch (error) {
    return [
      failed(
        `${host} port ${port}: ${(error as Error).message}`,
        'check the address, port, password and certificate of the mail server',
      ),
    ]
  }
}
