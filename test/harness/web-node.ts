/** A node whose web server runs with the configuration of the product, and sites put there as the agent puts them. */
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { homeOf, nodeLayout, siteOf, uidOf, userOf } from '../../src/agent/layout.ts'
import { treeOf } from '../../src/agent/setup/tree.ts'
import { type WebOptions, webConfiguration } from '../../src/agent/web/configuration.ts'
import type { NodeMachine } from './node-machine.ts'
import { readAnswer, type SiteAnswer } from './sites.ts'
import { until } from './until.ts'

export const layout = nodeLayout()
/** The page of suspended sites, which the agent writes. */
export const SUSPENDED_PAGE = '<h1>Site suspended</h1>'

export type WebNodeOptions = Partial<Pick<WebOptions, 'refusesLinks' | 'hasIpv6'>> & {
  /** Changes the text of the configuration. */
  edit?: (configuration: string) => string
}

export type NodeSite = {
  id: number
  subscription: number
  names: string[]
  files: Record<string, string>
  kind?: 'php' | 'spa' | 'static'
  release?: number
}

export type AskOptions = {
  method?: string
  host?: string
  headers?: Record<string, string>
  body?: string
  /** The name of the handshake, which makes it HTTPS; `host` if it is `true`. */
  tls?: string | true
}

export type WebNode = Awaited<ReturnType<typeof startWebNode>>

export async function startWebNode(machine: NodeMachine, options: WebNodeOptions = {}) {
  const { edit = (text: string) => text, refusesLinks = 'mount', hasIpv6 = true } = options
  const text = edit(webConfiguration({ layout, version: [1, 22, 1], refusesLinks, hasIpv6 }))
  const owner = (of: 'web' | undefined) => (of === 'web' ? 'ncp-web' : 'root')
  const directories = treeOf(layout).map(
    (directory) =>
      `install -d -m ${directory.mode.toString(8)} -o ${owner(directory.owner)} -g ${owner(directory.group)} ${directory.path}`,
  )
  const mount =
    refusesLinks === 'mount'
      ? `mount --bind ${layout.sites} ${layout.view}
         mount -o bind,remount,nosymfollow,ro,nodev,nosuid,noexec ${layout.view}`
      : ''
  await machine.bash(
    `useradd --system --user-group --no-create-home ncp-web
     ${directories.join('\n')}
     ${mount}
     mkdir ${layout.states}/suspended
     echo suspended >${layout.states}/suspended/generation
     echo '${SUSPENDED_PAGE}' >${layout.states}/suspended/503.html
     chgrp -R ncp-web ${layout.states}/suspended
     cat >${layout.webConfiguration}`,
    { stdin: text },
  )
  const command = ['nginx', '-e', 'stderr', '-c', layout.webConfiguration]
  await machine.bash(`umask 077; ${command.join(' ')} -t`)
  const nginx = machine.spawn(['bash', '-c', `umask 077; exec ${command.join(' ')} -g 'daemon off;'`])
  await until('nginx', async () => {
    if (nginx.hasEnded()) throw new Error(nginx.stderr())
    return (await machine.run(['curl', '-s', 'http://127.0.0.1/'])).exitCode === 0
  })

  const seen = new Set<number>()
  /** As nginx is to see the files. */
  const view = refusesLinks === 'mount' ? layout.view : layout.sites

  async function addSubscription(id: number): Promise<void> {
    if (seen.has(id)) return
    seen.add(id)
    const home = homeOf(layout, id)
    await machine.bash(
      `useradd --uid ${uidOf(id)} --user-group --no-create-home ${userOf(id)}
       install -d -m 710 ${home}
       setfacl -m u:${userOf(id)}:rx,u:ncp-web:x ${home}
       install -d -m 711 ${home}/sites
       setfacl -m u:${userOf(id)}:rx ${home}/sites`,
    )
  }

  /** Points a name to what lies below `sites`, by one rename. */
  const point = (name: string, target: string) =>
    machine.bash(
      `ln -s ../${target} ${layout.staging}/link
       mv -T ${layout.staging}/link ${layout.names}/${name}`,
    )

  return {
    machine,
    nginx,
    point,

    /** Creates a site with its release, or gives it a new one. @returns the directory of the release */
    async serve({ id, subscription, names, files, kind = 'static', release = 1 }: NodeSite): Promise<string> {
      await addSubscription(subscription)
      const user = userOf(subscription)
      const site = siteOf(layout, subscription, id)
      const root = join(site, 'releases', `${release}`)
      const generation = join(layout.generations, `${id}.${release}`)
      const target = root.replace(layout.sites, view)
      await machine.bash(
        `install -d -m 711 ${site} ${site}/releases
         setfacl -m u:${user}:rx ${site}
         install -d -m 755 -o ${user} -g ${user} ${root}
         install -d -m 750 -g ncp-web ${generation}
         echo ${id}.${release} >${generation}/generation
         ln -s ${target} ${generation}/pub
         ${kind === 'static' ? '' : `ln -s ${target} ${generation}/${kind}`}`,
      )
      const lines = Object.entries(files).map(
        ([path, content]) =>
          `mkdir -p '${join(root, dirname(path))}'; printf %s ${quote(content)} >'${join(root, path)}'`,
      )
      await machine.bash(lines.join('\n'), { as: user })
      for (const name of names) await point(name, `gen/${id}.${release}`)
      return root
    },

    suspend: (name: string) => point(name, 'state/suspended'),

    /** Gives a name a certificate that it has signed itself. */
    async certify(name: string): Promise<void> {
      const directory = join(layout.certificates, 'certs', name)
      await machine.bash(
        `install -d -m 750 -g ncp-web ${directory}
         cd ${directory}
         openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test -addext subjectAltName=DNS:${name} -keyout key -out cert 2>/dev/null
         cat cert key >pem
         chmod 640 pem
         chgrp ncp-web pem
         ln -s ../certs/${name} ${layout.certificates}/by-name/${name}`,
      )
    },

    /** A PHP of a site, on its socket. */
    async startPhp(id: number, subscription: number): Promise<void> {
      await machine.bash(
        `mkdir -p /run/ncp/fpm
         cat >/run/ncp/fpm/${id}.conf
         php-fpm8.2 --fpm-config /run/ncp/fpm/${id}.conf`,
        {
          stdin: `[global]
error_log = /run/ncp/fpm/${id}.log
[site]
user = ${userOf(subscription)}
group = ${userOf(subscription)}
listen = ${layout.phpSockets}/${id}.sock
listen.owner = root
listen.group = ncp-web
listen.mode = 0660
pm = ondemand
pm.max_children = 4
`,
        },
      )
    },

    /** Sends a request byte for byte. @param path sent as it is */
    ask: (path: string, options: AskOptions = {}) => ask(machine, path, options),
    /** Sends bytes, and returns all that comes until the connection is closed. */
    send: (bytes: string, tls?: string) => send(machine, bytes, tls),
    /** The lines of the access log that name a host, parsed, once there are as many. */
    logged: async (host: string, count: number) =>
      until(`${count} lines of ${host}`, async () => {
        const text = await machine.bash(`cat ${layout.webLogs}/access.log`)
        const lines = text
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line) as Record<string, string | number>)
          .filter(({ h }) => h === host)
        return lines.length >= count && lines
      }),
  }
}

async function ask(
  machine: NodeMachine,
  path: string,
  { method = 'GET', host = 'a.test', headers = {}, body = '', tls }: AskOptions = {},
): Promise<SiteAnswer> {
  const all = { host, ...headers, ...(body !== '' && { 'content-length': `${body.length}` }), connection: 'close' }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  const bytes = `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`
  const answer = readAnswer(await send(machine, bytes, tls === true ? host : tls))
  if (answer.headers.get('transfer-encoding') !== 'chunked') return answer
  const content = withoutChunks(answer.bytes)
  return { ...answer, bytes: content, text: content.toString() }
}

function withoutChunks(bytes: Buffer): Buffer {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    const size = Number.parseInt(bytes.subarray(at, lineEnd).toString(), 16)
    if (!size) return Buffer.concat(chunks)
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
  }
}

async function send(machine: NodeMachine, bytes: string, tls?: string): Promise<Buffer> {
  const path = await machine.socketTo(tls === undefined ? 80 : 443)
  return new Promise((resolve, reject) => {
    const received: Buffer[] = []
    const socket = tls === undefined ? connect(path) : connectTls({ path, servername: tls, rejectUnauthorized: false })
    socket.on(tls === undefined ? 'connect' : 'secureConnect', () => socket.write(Buffer.from(bytes, 'latin1')))
    socket.on('data', (chunk: Buffer) => received.push(chunk))
    socket.on('close', () => resolve(Buffer.concat(received)))
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error)
    })
  })
}

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
