/** Writes what PHP-FPM is told: the configuration of one master, with a pool for each of its sites. */
import { join } from 'node:path'
import { isReserved, isVariableName, type Variable } from '../../node/environment.ts'
import {
  isPlainDirectory,
  LIMITED_DIRECTIVES,
  megabytesOf,
  PHP_DIRECTIVES,
  type PhpDirectiveName,
  type PhpLimits,
  type PhpSettings,
  takes,
} from '../../node/php.ts'
import { logsOf, type NodeLayout, siteOf, uidOf } from '../layout.ts'

/** A master of PHP-FPM: of a subscription and a version. */
export type MasterSpec = {
  subscriptionId: number
  /** Such as 8.2. */
  version: string
  limits: PhpLimits
  pools: PoolSpec[]
}

export type PoolSpec = {
  siteId: number
  settings: PhpSettings
  /** Directories below what is served in which no PHP is executed. */
  noPhpIn: string[]
  /** What its scripts find in their environment. */
  environment: readonly Variable[]
}

type Places = Pick<NodeLayout, 'sites' | 'logs' | 'phpSockets' | 'phpSettings'>

/** A request that ends in this time is not cut off when its master is told to end. */
const MAX_DRAIN_SECONDS = 30
/** A process without a request ends, and what it has leaked with it. */
const IDLE_SECONDS = 10
const MAX_REQUESTS = 1000
/** What else PHP may read: its own libraries, and the certificates of authorities. */
const SHARED = ['/usr/share/php/', '/etc/ssl/certs/', '/usr/share/ca-certificates/']
const SENDMAIL = '/usr/sbin/sendmail'
/** Set unless the site sets it: the rest is as the distribution's php.ini has it. */
const DEFAULTS: PhpSettings = { display_errors: false }
/** Of an upload's form beyond its files. */
const FORM_MEGABYTES = 1

/** The socket on which a site's PHP is asked. */
export const socketOf = ({ phpSockets }: Pick<NodeLayout, 'phpSockets'>, siteId: number): string =>
  join(phpSockets, `${siteId}.sock`)

/** The configuration of a master. Only root and the user of the subscription may read it. */
export const configurationOf = (
  { phpSettings }: Pick<NodeLayout, 'phpSettings'>,
  { subscriptionId, version }: Pick<MasterSpec, 'subscriptionId' | 'version'>,
): string => join(phpSettings, `${subscriptionId}-${version}.conf`)

/** PHP that runs before every script of a site, for one that says where PHP must not be executed. */
export const guardOf = ({ phpSettings }: Pick<NodeLayout, 'phpSettings'>, siteId: number): string =>
  join(phpSettings, `${siteId}-guard.php`)

/**
 * @throws Error for a value that no panel sends: whatever comes out says exactly what was meant
 */
export function fpmConfiguration(spec: MasterSpec, places: Places): string {
  const global = section('global', [
    ['daemonize', 'no'],
    // What it has to say goes to its standard error.
    ['error_log', '/dev/null'],
    ['process_control_timeout', `${MAX_DRAIN_SECONDS}s`],
  ])
  return [global, ...spec.pools.map((pool) => section(`${integer(pool.siteId)}`, poolLines(spec, pool, places)))].join(
    '\n',
  )
}

type Line = readonly [key: string, value: string]

function poolLines({ subscriptionId, limits }: MasterSpec, pool: PoolSpec, places: Places): Line[] {
  const site = siteOf(places, integer(subscriptionId), integer(pool.siteId))
  const tmp = join(site, 'tmp')
  const guard = pool.noPhpIn.length === 0 ? undefined : guardOf(places, pool.siteId)
  const readable = [`${site}/`, ...SHARED, ...(guard === undefined ? [] : [guard])]
  return [
    ['listen', socketOf(places, pool.siteId)],
    ['pm', 'ondemand'],
    ['pm.max_children', `${integer(limits.workers)}`],
    ['pm.process_idle_timeout', `${IDLE_SECONDS}s`],
    ['pm.max_requests', `${MAX_REQUESTS}`],
    ['request_terminate_timeout', `${integer(limits.seconds)}s`],
    ['security.limit_extensions', '.php'],
    ['chdir', site],
    ['env[PATH]', '/usr/local/bin:/usr/bin:/bin'],
    ['env[HOME]', site],
    ...['TMPDIR', 'TMP', 'TEMP']
      .filter((name) => !pool.environment.some((variable) => variable.name === name))
      .map((name): Line => [`env[${name}]`, tmp]),
    ...pool.environment.map(({ name }): Line => [`env[${name}]`, `$${inheritedName(pool, name)}`]),
    admin('open_basedir', readable.join(':')),
    admin('upload_tmp_dir', tmp),
    admin('sys_temp_dir', tmp),
    admin('session.save_path', join(site, 'sessions')),
    // Debian leaves this to a job that knows only its own directory.
    admin('session.gc_probability', '1'),
    admin('session.gc_divisor', '1000'),
    admin('log_errors', 'on'),
    admin('error_log', join(logsOf(places, subscriptionId, pool.siteId), 'php.log')),
    admin('sendmail_path', `${SENDMAIL} -t -i`),
    admin('expose_php', 'off'),
    ...(guard === undefined ? [] : [admin('auto_prepend_file', guard)]),
    ...settingLines(limits, pool.settings),
  ]
}

/**
 * The environment of a master, which has the variables of all its sites: values are never text in a configuration, so that no
 * byte of one can mean anything in it.
 */
export const environmentOf = ({ pools }: MasterSpec): Record<string, string> =>
  Object.fromEntries(
    pools.flatMap((pool) => pool.environment.map(({ name, value }) => [inheritedName(pool, name), value])),
  )

/** @throws Error for a name that no panel sends */
function inheritedName({ siteId }: Pick<PoolSpec, 'siteId'>, name: string): string {
  if (!isVariableName(name) || isReserved(name)) throw new Error(`not the name of a variable: ${JSON.stringify(name)}`)
  return `S${integer(siteId)}_${name}`
}

const admin = (directive: string, value: string): Line => [`php_admin_value[${directive}]`, value]

/** The directives that limit a site are out of a script's reach; the rest is what it starts with. */
function settingLines(limits: PhpLimits, settings: PhpSettings): Line[] {
  for (const [name, value] of Object.entries(settings)) {
    if (isDirective(name) && takes(PHP_DIRECTIVES[name], value)) continue
    throw new Error(`not a setting of PHP: ${JSON.stringify([name, value])}`)
  }
  return Object.entries(boundedSettings(limits, settings)).map(([name, value]): Line => {
    const text = typeof value === 'boolean' ? (value ? 'on' : 'off') : `${value}`
    return [`php_${name in LIMITED_DIRECTIVES || FIXED.has(name) ? 'admin_value' : 'value'}[${name}]`, text]
  })
}

/** Can only be set by the server, before a script runs. */
const FIXED: ReadonlySet<string> = new Set(['disable_functions', 'allow_url_fopen', 'max_file_uploads'])

const isDirective = (name: string): name is PhpDirectiveName => Object.hasOwn(PHP_DIRECTIVES, name)

/** What a site sets within the limits of its subscription, which may have become less since; without a setting, the limit. */
function boundedSettings(limits: PhpLimits, settings: PhpSettings): PhpSettings {
  const megabytes = (value: string | undefined, limit: number) => Math.min(megabytesOf(value) ?? limit, limit)
  const upload = megabytes(settings.upload_max_filesize, limits.uploadMb)
  const post = megabytes(settings.post_max_size ?? `${upload + FORM_MEGABYTES}M`, limits.uploadMb + FORM_MEGABYTES)
  return {
    ...DEFAULTS,
    ...settings,
    memory_limit: `${megabytes(settings.memory_limit, limits.memoryMb)}M`,
    upload_max_filesize: `${upload}M`,
    post_max_size: `${post}M`,
    ...(settings.max_execution_time !== undefined && {
      max_execution_time: Math.min(settings.max_execution_time, limits.seconds),
    }),
  }
}

const SAFE = /^[A-Za-z0-9 _./:,@+-]*$/
/** A variable of the master. */
const INHERITED = /^\$S[1-9]\d*_[A-Z0-9_]+$/

/** Quoted, with nothing that the reader of the file would take for more than text. @throws Error for anything else */
function section(name: string, lines: readonly Line[]): string {
  const written = lines.map(([key, value]) => {
    if (!SAFE.test(value) && !INHERITED.test(value)) throw new Error(`not a value for ${key}: ${JSON.stringify(value)}`)
    return `${key} = "${value}"`
  })
  return `[${name}]\n${written.join('\n')}\n`
}

function integer(value: number): number {
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`not a whole number: ${JSON.stringify(value)}`)
  return value
}

/**
 * Ends a request whose script lies in a directory without PHP, by its path in the site or on the disk. It runs before the
 * script, from a file that only root can change.
 *
 * @throws Error for what is no plain directory
 */
export function guardScript(directories: readonly string[]): string {
  const refused = directories.find((directory) => !isPlainDirectory(directory))
  if (refused !== undefined) throw new Error(`not a plain directory: ${JSON.stringify(refused)}`)
  const list = directories.map((directory) => `'${directory}'`).join(', ')
  return `<?php
(static function () {
    $root = $_SERVER['DOCUMENT_ROOT'];
    $script = $_SERVER['SCRIPT_FILENAME'];
    foreach ([${list}] as $directory) {
        $real = realpath("$root/$directory");
        $isBelow = str_starts_with($script, "$root/$directory/")
            || ($real !== false && str_starts_with((string) realpath($script), "$real/"));
        if (!$isBelow) continue;
        http_response_code(404);
        header('Content-Type: text/plain; charset=utf-8');
        exit("Not found\\n");
    }
})();
`
}

/** The user that a master and everything of it runs as. */
export const userIdOf = (spec: Pick<MasterSpec, 'subscriptionId'>): number => uidOf(integer(spec.subscriptionId))
