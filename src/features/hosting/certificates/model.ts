/** The schemas of `/sites/:id/certificate`. */
import { closed, text } from '../../../http/schema.ts'

const MAX_CHAIN = 48_000
const MAX_KEY = 8000

export const UploadCertificate = closed({
  certificate: text({
    minLength: 1,
    maxLength: MAX_CHAIN,
    examples: ['-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n'],
    description: 'PEM: the certificate of the site, then those of the authorities between it and a known one',
  }),
  private_key: text({
    minLength: 1,
    maxLength: MAX_KEY,
    examples: ['-----BEGIN PRIVATE KEY-----\n…\n-----END PRIVATE KEY-----\n'],
    description: 'PEM, without a passphrase; it is stored sealed, and no response contains it',
  }),
})
