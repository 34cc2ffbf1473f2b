/** Proxies of Debian's packages, run with a configuration of the documentation over plain HTTP on a free port. */
import { readdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'

/** From the packages nginx-light, caddy, apache2 and haproxy. */
export const PROXY_PATH = '/usr/sbin:/usr/bin:/bin'
/** An address of this machine other than a proxy's: an untrusted client. */
export const CLIENT = '127.0.0.2'

export type ProxyName = 'nginx' | 'caddy' | 'apache2' | 'haproxy'
export const installed = (name: ProxyName) => Bun.which(name, { PATH: PROXY_PATH }) !== null

/** `directory` is for what a proxy writes. */
type Place = { port: number; panelPort: number; directory: string }

const isRoot = process.getuid?.() === 0
const APACHE_MODULES = '/usr/lib/apache2/modules'
const APACHE_NEEDS = ['authz_core', 'deflate', 'filter', 'headers', 'mpm_event', 'proxy', 'proxy_http']

/** @returns the command that runs the configuration in the foreground */
export function commandOf(name: ProxyName, configuration: string, place: Place): string[] {
  const text = configuration.replaceAll('127.0.0.1:3443', `127.0.0.1:${place.panelPort}`)
  return commands[name](text, place)
}

const commands: Record<ProxyName, (text: string, place: Place) => string[]> = {
  nginx(text, { port, directory }) {
    const server = text.replace('listen 443 ssl;', `listen 127.0.0.1:${port};`).replaceAll(/^ *ssl_.*\n/gm, '')
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${join(directory, name)};`,
    )
    const file = join(directory, 'nginx.conf')
    // Its workers would be a user who may not enter the test's directory.
    const user = isRoot ? 'user root;' : ''
    writeFileSync(
      file,
      `${user} daemon off; pid ${join(directory, 'nginx.pid')}; error_log stderr; events {}
http { access_log off; ${paths.join(' ')} ${server} }`,
    )
    return ['nginx', '-e', 'stderr', '-c', file]
  },

  caddy(text, { port, directory }) {
    const file = join(directory, 'Caddyfile')
    writeFileSync(file, `{\n\tadmin off\n}\n${text.replace('panel.example.com', `http://127.0.0.1:${port}`)}`)
    return ['caddy', 'run', '--adapter', 'caddyfile', '--config', file]
  },

  apache2(text, { port, directory }) {
    const host = text.replace('*:443', `127.0.0.1:${port}`).replaceAll(/^ *SSL.*\n/gm, '')
    const there = readdirSync(APACHE_MODULES)
    const modules = APACHE_NEEDS.filter((name) => there.includes(`mod_${name}.so`)).map(
      (name) => `LoadModule ${name}_module ${APACHE_MODULES}/mod_${name}.so`,
    )
    const file = join(directory, 'apache.conf')
    writeFileSync(
      file,
      [
        ...modules,
        // It refuses to be root.
        ...(isRoot ? ['User www-data', 'Group www-data'] : []),
        `DefaultRuntimeDir ${directory}`,
        `PidFile ${join(directory, 'apache.pid')}`,
        `ErrorLog ${join(directory, 'apache.log')}`,
        'ServerName localhost',
        `Listen 127.0.0.1:${port}`,
        host,
      ].join('\n'),
    )
    return ['apache2', '-D', 'FOREGROUND', '-f', file]
  },

  haproxy(text, { port, directory }) {
    const file = join(directory, 'haproxy.cfg')
    writeFileSync(file, text.replace(/bind .*/, `bind 127.0.0.1:${port}`))
    return ['haproxy', '-f', file]
  },
}

export type Asked = { status: number; headers: Record<string, unknown>; body: string }

/** A request from an address that is not the proxy's. @returns status 0 while nothing answers */
export function ask(
  port: number,
  path: string,
  { method, headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Asked> {
  return new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, path, localAddress: CLIENT, headers }
    const sent = request({ ...options, method: method ?? (body === undefined ? 'GET' : 'POST') }, (response) => {
      let received = ''
      response.setEncoding('latin1')
      response.on('data', (chunk) => {
        received += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: received }))
    })
    sent.on('error', () => resolve({ status: 0, headers: {}, body: '' }))
    sent.end(body)
  })
}
