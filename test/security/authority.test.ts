/** A certificate authority that means harm: it is asked by us, and chooses the names that we then publish a proof under. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { publishInWebroot } from '../../src/tls/acme/challenge.ts'
import { orderCertificate } from '../../src/tls/acme/client.ts'
import { newDirectory } from '../harness/directory.ts'

let directory: string
let webroot: string
let token: string
let authority: Bun.Server<undefined>
beforeAll(() => {
  directory = newDirectory()
  webroot = join(directory, 'www')
  authority = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: answer })
})
afterAll(async () => {
  await authority.stop(true)
  rmSync(directory, { recursive: true, force: true })
})

const url = (path: string) => new URL(path, authority.url).href

/** As far as the challenge, which is where the harm would be done. */
function answer(request: Request): Response {
  const headers = { 'replay-nonce': 'x', location: url('/here') }
  switch (new URL(request.url).pathname) {
    case '/directory':
      return Response.json(
        { newNonce: url('/nonce'), newAccount: url('/account'), newOrder: url('/order') },
        { headers },
      )
    case '/order':
      return Response.json(
        { status: 'pending', authorizations: [url('/authorization')], finalize: url('/x') },
        { headers },
      )
    case '/authorization':
      return Response.json(
        {
          status: 'pending',
          identifier: { value: 'a.example' },
          challenges: [{ type: 'http-01', url: url('/challenge'), token }],
        },
        { headers },
      )
    default:
      return Response.json({}, { headers })
  }
}

/** @see CVE-2023-38198: acme.sh ran what an authority sent it as the name of a challenge */
test.each(['../../escaped', '/etc/cron.d/ncp', '..', '.', '', 'a/b', 'a\0b', 'a b', '$(id)', 'a'.repeat(257)])(
  'a challenge named %j writes no file, and is refused',
  async (name) => {
    token = name
    const { privateKey } = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign'])
    const options = {
      directoryUrl: url('/directory'),
      account: { privateKey, email: undefined },
      publish: publishInWebroot(webroot),
    }
    const ordered = orderCertificate(options, ['a.example'], new Uint8Array())
    await expect(ordered).rejects.toThrow('the authority offers no HTTP-01 challenge for a.example')
    expect(readdirSync(directory, { recursive: true })).toEqual([])
  },
)
