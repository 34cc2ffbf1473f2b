/**
 * Measures the web server of a node beside what other panels configure: a virtual host of its own for each site. As root,
 * a minute; fails where a figure is missed.
 *
 *   bun bench/node.ts [rounds]
 */
import { readFileSync, symlinkSync } from 'node:fs'
import { startNodeMachine } from '../test/harness/node-machine.ts'
import { layout, startWebNode } from '../test/harness/web-node.ts'
import { median } from './load.ts'

const ROUNDS = Number(process.argv[2] ?? 5)
const SECONDS = 1
const CONNECTIONS = 16
const NAMES = 10_000
/** Of a virtual host without any guard, and of one with `disable_symlinks`. */
const LEAST = { unguarded: 0.9, guarded: 1.3 }
const MS_PER_TICK = 10

await using machine = await startNodeMachine()
await machine.bash(
  `mkdir /run/certificate; cd /run/certificate
   openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=a.test -keyout key -out cert 2>/dev/null
   cat cert key >pem`,
)
const root = '/srv/ncp/ncp-s1/sites/1/releases/1'
const web = await startWebNode(machine, {
  // One worker, which the load keeps busy: what a request costs decides on how many there are.
  edit: (text) =>
    text
      .replace('worker_processes auto', 'worker_processes 1')
      .replace(
        /\}\n$/,
        `${virtualHost(81, '')}${virtualHost(82, 'disable_symlinks if_not_owner from=$document_root;')}}\n`,
      ),
})
const files = { 'index.html': 'x'.repeat(5000), 'css/site.css': 'y'.repeat(5000) }
await web.serve({ id: 1, subscription: 1, names: ['a.test'], files })
await web.certify('a.test')
await machine.bash(`rm ${layout.certificates}/by-name/a.test`)
for (let number = 1; number <= NAMES; number++) {
  symlinkSync('../gen/1.1', machine.path(`${layout.names}/site-${number}.test`))
}

type Contender = { name: string; origin: string; host: string }
const plain: Contender[] = [
  { name: 'virtual host', origin: 'http://127.0.0.1:81', host: 'fixed.test' },
  { name: 'virtual host, disable_symlinks', origin: 'http://127.0.0.1:82', host: 'fixed.test' },
  { name: 'ncp', origin: 'http://127.0.0.1', host: 'a.test' },
  { name: `ncp, one of ${NAMES} names`, origin: 'http://127.0.0.1', host: 'site-7777.test' },
]
const secure: Contender[] = [
  { name: 'virtual host, HTTPS', origin: 'https://a.test:444', host: 'a.test' },
  { name: 'ncp, HTTPS', origin: 'https://a.test', host: 'a.test' },
]
await machine.bash('echo 127.0.0.1 a.test >>/etc/hosts')

const rows = [...(await measure(plain, '/')), ...(await measure(plain, '/css/site.css'))]
await machine.bash(`ln -s ../certs/a.test ${layout.certificates}/by-name/a.test`)
rows.push(...(await measure(secure, '/css/site.css')))
process.stdout.write(
  `| request | server | CPU µs | requests a CPU second, virtual host = 1 |\n|---|---|---:|---:|\n${rows
    .map(({ path, name, cost, ratio }) => `| ${path} | ${name} | ${cost.toFixed(1)} | ${ratio.toFixed(2)} |\n`)
    .join('')}`,
)
const missed = ['/', '/css/site.css'].filter((path) => {
  const ratioOf = (wanted: string) => rows.find((row) => row.path === path && row.name === wanted)?.ratio ?? 0
  const ours = ratioOf('ncp')
  return ours < LEAST.unguarded || ours / ratioOf('virtual host, disable_symlinks') < LEAST.guarded
})
if (missed.length > 0) {
  process.stderr.write(`too slow: ${missed.join(', ')}\n`)
  process.exitCode = 1
}

/** As the documentation of nginx has it, with the same log and for HTTPS the same certificate. */
function virtualHost(port: number, guard: string): string {
  const pem = '/run/certificate/pem'
  const log = `access_log ${layout.webLogs}/access.log ncp_other buffer=64k flush=1s; error_log stderr error;`
  const location = 'location / { try_files $uri $uri/ =404; }'
  const inner = `server_name fixed.test; root ${root}; index index.html; ${log} ${guard} ${location}`
  const tls = `server { listen 444 ssl http2; ssl_certificate ${pem}; ssl_certificate_key ${pem}; ${inner} }`
  return `server { listen ${port}; ${inner} }\n${guard === '' ? `${tls}\n` : ''}`
}

/** In turns, so that whatever else the machine does hits all alike; the first is what the others are compared with. */
async function measure(contenders: readonly Contender[], path: string) {
  const costs = contenders.map((): number[] => [])
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, contender] of contenders.entries()) costs[index]?.push(await costOf(contender, path))
  }
  return contenders.map(({ name }, index) => {
    const own = costs[index] ?? []
    // Of the same round: another load of the machine is in both.
    const ratios = own.map((cost, round) => (costs[0]?.[round] ?? Number.NaN) / cost)
    return { path, name, cost: median(own), ratio: median(ratios) }
  })
}

/** @returns microseconds of CPU of the worker for each request */
async function costOf({ origin, host }: Contender, path: string): Promise<number> {
  const before = workerCpuMs()
  const output = await machine.bash(
    `wrk -t1 -c${CONNECTIONS} -d${SECONDS} -H 'Host: ${host}' ${origin}${path}; sleep 0.1`,
  )
  const [, requests = ''] = /(\d+) requests in/.exec(output) ?? []
  if (/Non-2xx/.test(output)) throw new Error(output)
  return ((workerCpuMs() - before) * 1000) / Number(requests)
}

function workerCpuMs(): number {
  const master = web.nginx.pid()
  const [worker] = readFileSync(`/proc/${master}/task/${master}/children`, 'utf8').split(' ')
  const [, fields = ''] = readFileSync(`/proc/${worker}/stat`, 'utf8').split(') ')
  const [user, system] = fields.split(' ').slice(11, 13)
  return (Number(user) + Number(system)) * MS_PER_TICK
}
