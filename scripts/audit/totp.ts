/** Holds the panel's TOTP codes against those of oathtool, an implementation that shares nothing with it. */
import { randomInt } from 'node:crypto'
import { newTotpSecret, totpStep } from '../../src/crypto/totp.ts'

const CODES = 300
/** The year 2100, in seconds. */
const FAR = 4_102_444_800

let leadingZeros = 0
for (let i = 0; i < CODES; i++) {
  const secret = newTotpSecret()
  const seconds = randomInt(FAR)
  const code = await oathtool(secret, seconds)
  if (code.startsWith('0')) leadingZeros++
  const step = totpStep(secret, code, seconds * 1000)
  if (step !== Math.floor(seconds / 30))
    throw new Error(`at ${seconds} oathtool says ${code}, which gives step ${step}`)
}
process.stdout.write(`${CODES} codes agree, ${leadingZeros} of them with a leading zero\n`)

async function oathtool(secret: string, seconds: number): Promise<string> {
  const child = Bun.spawn(['oathtool', '--totp', '--base32', '-N', `@${seconds}`, secret], { stdout: 'pipe' })
  return (await new Response(child.stdout).text()).trim()
}
