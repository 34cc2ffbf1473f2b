/** `ncp serve --demo`: sample data, how to log in to its page, and curl commands to try the API with. */
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { ConfigError } from '../config/load.ts'
import { operator } from '../core/actor.ts'
import { newToken, writePrivateFile } from '../crypto/secret.ts'
import { sampleArchive } from '../features/hosting/deployments/sample.ts'
import type { Panel } from '../panel.ts'

type DemoCredentials = { email: string; password: string; key: string }

export type Reachable = {
  origin: string
  /** The path of the panel's certificate; undefined over HTTP. */
  certificate: string | undefined
  /** Undefined where no sites are served. */
  sitesPort: number | undefined
}

const EMAIL = 'demo@example.com'
/** Every browser takes names below localhost for this machine. */
const OPEN_SITE = 'demo.localhost'
const SITES = {
  Personal: [OPEN_SITE, 'ada.example', 'recipes.ada.example', 'photos.ada.example'],
  Agency: ['shop.example.com', 'xn--bcher-kva.example'],
}

/** Makes the demo customer where the database has none, and reads its credentials where it has. */
export async function seedDemo(panel: Panel) {
  const path = panel.paths.demo
  if (!existsSync(path)) {
    // Only the initial administrator may exist: a demo customer must not be mixed with real ones.
    if ((await panel.users.count()) > 1) {
      throw new ConfigError(['--demo: needs its own data directory; name an empty one with --data'])
    }
    writePrivateFile(path, JSON.stringify(await createDemo(panel)))
  }
  const credentials: DemoCredentials = JSON.parse(readFileSync(path, 'utf8'))
  return { curl: (reachable: Reachable) => curlLines(credentials, reachable) }
}

async function createDemo(panel: Panel): Promise<DemoCredentials> {
  const { users, passwords, subscriptions, sites, deployments, apiKeys } = panel
  const password = newToken()
  const user = await users.create(
    operator,
    { email: EMAIL, name: 'Ada Demo', role: 'customer' },
    await passwords.hash(password),
  )
  for (const [name, domains] of Object.entries(SITES)) {
    const subscription = await subscriptions.create(operator, {
      userId: user.id,
      name,
      isDefault: undefined,
      maxSites: 10,
    })
    for (const domain of domains) {
      const site = await sites.createFor(operator, subscription.id, { domain, aliases: [`www.${domain}`] })
      if (domain === OPEN_SITE) await deployments.createFor(operator, site.id, await sampleArchive())
    }
  }
  const { key } = await apiKeys.createFor(operator, user.id, { name: 'Demo key', expiresAt: undefined })
  return { email: EMAIL, password, key }
}

function curlLines({ email, password, key }: DemoCredentials, { origin, certificate, sitesPort }: Reachable): string {
  // Absolute and quoted: the lines are pasted into another terminal.
  const curl = certificate ? `curl -s --cacert ${shellQuote(resolve(certificate))}` : 'curl -s'
  const api = `${origin}/api/v1`
  return `
Open ${origin} in a browser, and log in as ${email} with the password ${password}${certificate ? '\nThe browser warns of the certificate that the panel has made for itself; continue all the same.' : ''}

Log in:
  TOKEN=$(${curl} ${api}/auth/login -H 'Content-Type: application/json' -d '{"email":"${email}","password":"${password}"}' | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')
Create an API key:
  ${curl} ${api}/auth/api-keys -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"name":"My first key"}'
List sites with the demo key:
  ${curl} ${api}/sites -H 'Authorization: Bearer ${key}'
${sitesPort === undefined ? '' : siteLines(curl, api, key, sitesPort)}`
}

/** curl gets the name as a header: not every resolver knows names below localhost. */
function siteLines(curl: string, api: string, key: string, port: number): string {
  const asDemo = `-H 'Authorization: Bearer ${key}'`
  return `Create a site, deploy a page to it, wait until that is served, and fetch it:
  NAME=site-$(date +%s).localhost
  ID=$(${curl} ${api}/sites ${asDemo} -H 'Content-Type: application/json' -d '{"domain":"'$NAME'"}' | sed 's/.*"data":{"id":\\([0-9]*\\).*/\\1/')
  DIR=$(mktemp -d) && echo "<h1>Hello from $NAME</h1>" > $DIR/index.html
  tar -cz -C $DIR . | ${curl} ${api}/sites/$ID/deployments ${asDemo} --data-binary @-
  ${curl} "${api}/sites/$ID?wait=observed" ${asDemo}
  curl -s http://localhost:${port} -H "Host: $NAME"
Open a site in a browser: http://${OPEN_SITE}:${port}
`
}

function shellQuote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
