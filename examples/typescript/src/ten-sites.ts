/** Creates site1.DOMAIN to site10.DOMAIN where they are missing. */
import { allSites, connect } from './client.js'

const [domain] = process.argv.slice(2)
const { NCP_URL: url, NCP_KEY: key } = process.env
if (!url || !key || !domain) throw new Error('usage: NCP_URL=https://localhost:3443 NCP_KEY=ncp_… npm start -- DOMAIN')

const client = connect(url, key)
const present = new Set<string>()
for await (const site of allSites(client)) present.add(site.domain)
for (let number = 1; number <= 10; number++) {
  const name = `site${number}.${domain}`
  if (present.has(name)) continue
  const { data } = await client.POST('/api/v1/sites', { body: { domain: name } })
  process.stdout.write(`${data?.data.domain} is ${data?.data.status}\n`)
}
