/** The one configuration of our own nginx. It names no site: a site's name is a link, so a change needs no reload. */
import { join } from 'node:path'
import { type NodeLayout, WEB_USER } from '../layout.ts'
import { accessLog, accessLogFormats } from './access-log.ts'
import { block } from './block.ts'
import { fastcgiSettings } from './fastcgi.ts'
import { type LocationOptions, locations, NOSNIFF } from './locations.ts'
import { mediaTypes } from './media-types.ts'
import { hasHttp2Directive, type NginxVersion } from './version.ts'

/** Of a worker; the service's own limit must be as high. */
const OPEN_FILES = 65_536
const CONNECTIONS = 16_384
/** A download that is open during a restart of the workers may go on so long. */
const SHUTDOWN_SECONDS = 60
const MAX_UPLOAD = '100m'

/** Mozilla's intermediate recommendation, without DHE. */
const CIPHERS = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
]

/** A single component of a path, and no other: neither `..` nor a slash, and nothing that begins with a dot. */
const HOST_NAME = '"~^[a-z0-9][a-z0-9.-]*$"'

export type WebOptions = Pick<LocationOptions, 'refusesLinks'> & {
  layout: NodeLayout
  version: NginxVersion
  hasIpv6: boolean
}

export function webConfiguration(options: WebOptions): string {
  const { layout } = options
  return `${[
    '# Made by `ncp node setup`, which replaces it. It is the same for every site: see docs/operations/nodes.md.',
    `user ${WEB_USER};`,
    'worker_processes auto;',
    `worker_rlimit_nofile ${OPEN_FILES};`,
    `worker_shutdown_timeout ${SHUTDOWN_SECONDS}s;`,
    `pid ${layout.webPid};`,
    // The journal limits its rate and its size.
    'error_log stderr error;',

    ...block('events', [`worker_connections ${CONNECTIONS};`]),
    ...block('http', [
      ...general(layout),
      ...mediaTypes(),
      ...maps(layout),
      ...accessLogFormats(),
      accessLog(layout, 'other'),
      ...fastcgiSettings(),
      ...plainServer(options),
      ...secureServer(options),
      ...probeServer(layout),
      ...candidateServer(options),
    ]),
  ].join('\n')}\n`
}

function general({ webTemporary }: NodeLayout): string[] {
  const temporary = ['client_body', 'fastcgi', 'proxy', 'uwsgi', 'scgi']
  return [
    'sendfile on;',
    'tcp_nopush on;',
    'server_tokens off;',
    'absolute_redirect off;',
    'log_not_found off;',
    ...temporary.map((name) => `${name}_temp_path ${join(webTemporary, name)};`),
    `client_max_body_size ${MAX_UPLOAD};`,
    'large_client_header_buffers 4 16k;',
    'client_header_timeout 15s;',
    'client_body_timeout 30s;',
    'send_timeout 30s;',
    'reset_timedout_connection on;',
    // A name may lead elsewhere at any moment.
    'open_file_cache off;',
    'gzip on;',
    'gzip_vary on;',
    'gzip_comp_level 4;',
    'gzip_min_length 1024;',
    'gzip_proxied any;',
    NOSNIFF,
    `ssl_protocols TLSv1.2 TLSv1.3;`,
    `ssl_ciphers ${CIPHERS.join(':')};`,
    'ssl_prefer_server_ciphers off;',
    'ssl_session_cache shared:ncp:20m;',
    'ssl_session_timeout 1d;',
    'ssl_session_tickets off;',
  ]
}

/** What becomes of values that strangers choose, before they get into a path. */
function maps({ sites, view }: NodeLayout): string[] {
  return [
    ...block('map $host $ncp_name', ['default -;', `${HOST_NAME} $host;`]),
    // nginx does not look at the name of a handshake at all.
    ...block('map $ssl_server_name $ncp_sni', ['default -;', `${HOST_NAME} $ssl_server_name;`]),
    // PHP sees the files where they are, and not as they are mounted for nginx.
    ...block('map $realpath_root $ncp_real_root', ['default $realpath_root;', `"~^${view}(/.+)$" ${sites}$1;`]),
    // The directory that is asked for its index; what would change something is not asked of a directory.
    ...block('map $request_method $ncp_read_directory', [
      'default -none;',
      'GET $ncp_directory;',
      'HEAD $ncp_directory;',
    ]),
    // The number of the site, read from where the link leads.
    ...block('map $ncp_real_root $ncp_site', ['default 0;', `"~^${sites}/ncp-s[0-9]+/sites/([0-9]+)/" $1;`]),
  ]
}

const listens = (port: number, parameters: string, hasIpv6: boolean): string[] =>
  [`${port}`, ...(hasIpv6 ? [`[::]:${port}`] : [])].map(
    (address) => `listen ${address}${parameters} default_server backlog=4096;`,
  )

/** Values of a request before a location has set them. */
const NO_VALUES = ['set $ncp_path_info "";', 'set $ncp_directory "";']

function plainServer({ layout, refusesLinks, hasIpv6 }: WebOptions): string[] {
  return block('server', [
    ...listens(80, '', hasIpv6),
    'server_name _;',
    `root ${join(layout.names, '$ncp_name')};`,
    ...NO_VALUES,
    ...locations({ layout, refusesLinks, names: layout.names, redirects: true, isLogged: true }),
  ])
}

function secureServer({ layout, refusesLinks, hasIpv6, version }: WebOptions): string[] {
  const pem = join(layout.certificates, 'by-name/$ncp_sni/pem')
  const hasDirective = hasHttp2Directive(version)
  return block('server', [
    ...listens(443, hasDirective ? ' ssl' : ' ssl http2', hasIpv6),
    ...(hasDirective ? ['http2 on;'] : []),
    'server_name _;',
    // One file, since two could not be switched together.
    `ssl_certificate ${pem};`,
    `ssl_certificate_key ${pem};`,
    // Refused handshakes are logged here, and anyone may cause them. Each location has a log of its own.
    'error_log stderr emerg;',
    // A session of one name can be resumed under another, so nothing may follow from the name of a handshake.
    'if ($host != $ssl_server_name) { return 421; }',
    `root ${join(layout.names, '$ncp_name')};`,
    ...NO_VALUES,
    ...locations({ layout, refusesLinks, names: layout.names, redirects: false, isLogged: true }),
  ])
}

/** Only root can connect: tells which generation a name leads to. */
function probeServer({ probeSocket, names }: NodeLayout): string[] {
  return block('server', [
    `listen unix:${probeSocket};`,
    'access_log off;',
    `root ${join(names, '$ncp_name')};`,
    ...block('location /', ['default_type text/plain;', 'try_files /generation =404;']),
  ])
}

/** Only root can connect: answers as a site would with a release that is not served yet. */
function candidateServer({ layout, refusesLinks }: WebOptions): string[] {
  const { candidates: names } = layout
  return block('server', [
    `listen unix:${layout.candidateSocket};`,
    'server_name _;',
    `root ${join(names, '$ncp_name')};`,
    ...NO_VALUES,
    ...locations({ layout, refusesLinks, names, redirects: false, isLogged: false }),
  ])
}
