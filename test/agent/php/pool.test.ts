/** The configuration of PHP-FPM: whatever a panel sends, the file says what was meant, or none is written. */
import { expect, test } from 'bun:test'
import { array, assert, boolean, constantFrom, dictionary, integer, oneof, property, string } from 'fast-check'
import { nodeLayout } from '../../../src/agent/layout.ts'
import { environmentOf, fpmConfiguration, guardScript, type MasterSpec } from '../../../src/agent/php/pool.ts'
import { isReserved, isVariableName, type Variable } from '../../../src/node/environment.ts'
import {
  DEFAULT_PHP_LIMITS,
  isPlainDirectory,
  LIMITED_DIRECTIVES,
  PHP_DIRECTIVES,
  type PhpSettings,
  takes,
} from '../../../src/node/php.ts'

const layout = nodeLayout()

type Rest = Partial<MasterSpec> & { noPhpIn?: unknown; environment?: Variable[] }

function spec(settings: unknown = {}, rest: Rest = {}): MasterSpec {
  const { noPhpIn = [], environment = [], ...other } = rest
  return {
    subscriptionId: 12,
    version: '8.2',
    limits: DEFAULT_PHP_LIMITS,
    pools: [{ siteId: 7, settings: settings as PhpSettings, noPhpIn: noPhpIn as string[], environment }],
    ...other,
  }
}

/** The one thing that means more than itself is a variable of the master, whole. */
const LINE = /^([a-zA-Z0-9_.[\]]+) = "([^"$\\\n;{}]*|\$S\d+_[A-Z0-9_]+)"$/

/** As strict as can be: a section or a quoted value on each line, and nothing in it that means more than itself. */
function parse(text: string): Map<string, string>[] {
  const sections: Map<string, string>[] = []
  for (const line of text.split('\n').filter(Boolean)) {
    if (/^\[[a-z0-9]+\]$/.test(line)) {
      sections.push(new Map([['section', line.slice(1, -1)]]))
      continue
    }
    const [, key = '', value = ''] = LINE.exec(line) ?? []
    if (key === '') throw new Error(`not a line: ${line}`)
    const section = sections.at(-1)
    if (!section || section.has(key)) throw new Error(`twice: ${line}`)
    section.set(key, value)
  }
  return sections
}

test('a pool is what its subscription allows', () => {
  const [global, pool] = parse(fpmConfiguration(spec(), layout))
  expect(Object.fromEntries(global ?? [])).toEqual({
    section: 'global',
    daemonize: 'no',
    error_log: '/dev/null',
    process_control_timeout: '30s',
  })
  const site = '/srv/ncp/ncp-s12/sites/7'
  expect(Object.fromEntries(pool ?? [])).toEqual({
    section: '7',
    listen: '/run/ncp/php/7.sock',
    pm: 'ondemand',
    'pm.max_children': '5',
    'pm.process_idle_timeout': '10s',
    'pm.max_requests': '1000',
    request_terminate_timeout: '60s',
    'security.limit_extensions': '.php',
    chdir: site,
    'env[PATH]': '/usr/local/bin:/usr/bin:/bin',
    'env[HOME]': site,
    'env[TMPDIR]': `${site}/tmp`,
    'env[TMP]': `${site}/tmp`,
    'env[TEMP]': `${site}/tmp`,
    'php_admin_value[open_basedir]': `${site}/:/usr/share/php/:/etc/ssl/certs/:/usr/share/ca-certificates/`,
    'php_admin_value[upload_tmp_dir]': `${site}/tmp`,
    'php_admin_value[sys_temp_dir]': `${site}/tmp`,
    'php_admin_value[session.save_path]': `${site}/sessions`,
    'php_admin_value[session.gc_probability]': '1',
    'php_admin_value[session.gc_divisor]': '1000',
    'php_admin_value[log_errors]': 'on',
    'php_admin_value[error_log]': '/var/log/ncp/ncp-s12/7/php.log',
    'php_admin_value[sendmail_path]': '/usr/sbin/sendmail -t -i',
    'php_admin_value[expose_php]': 'off',
    'php_value[display_errors]': 'off',
    'php_admin_value[memory_limit]': '256M',
    'php_admin_value[upload_max_filesize]': '64M',
    'php_admin_value[post_max_size]': '65M',
  })
})

test('a change of version changes nothing but the version: no border is lost', () => {
  expect(fpmConfiguration(spec({}, { version: '8.4' }), layout)).toBe(fpmConfiguration(spec(), layout))
})

test('what a site asks for is cut to what its subscription allows, which may have become less', () => {
  const limits = { workers: 2, memoryMb: 64, seconds: 20, uploadMb: 8 }
  const settings = { memory_limit: '512M', max_execution_time: 300, upload_max_filesize: '100M', post_max_size: '101M' }
  const pool = parse(fpmConfiguration(spec(settings, { limits }), layout)).at(1)
  expect(pool?.get('php_admin_value[memory_limit]')).toBe('64M')
  expect(pool?.get('php_admin_value[max_execution_time]')).toBe('20')
  expect(pool?.get('php_admin_value[upload_max_filesize]')).toBe('8M')
  expect(pool?.get('php_admin_value[post_max_size]')).toBe('9M')
  expect(pool?.get('request_terminate_timeout')).toBe('20s')
})

test('each subscription and site has paths of its own', () => {
  const pools = [7, 8].map((siteId) => ({ siteId, settings: {}, noPhpIn: [], environment: [] }))
  const sections = parse(fpmConfiguration(spec({}, { subscriptionId: 3, pools }), layout))
  expect(sections.map((section) => section.get('listen'))).toEqual([
    undefined,
    '/run/ncp/php/7.sock',
    '/run/ncp/php/8.sock',
  ])
  expect(sections.at(2)?.get('php_admin_value[error_log]')).toBe('/var/log/ncp/ncp-s3/8/php.log')
})

const hostile = oneof(
  string({ unit: 'binary', maxLength: 60 }),
  constantFrom(
    ...[
      'a\nlisten = /tmp/x',
      'a;b',
      'a"b',
      "a'b",
      `\${PATH}`,
      '$pool',
      '../../etc',
      'a\0b',
      '}',
      'x'.repeat(5000),
      '128M\n',
    ],
    ...[
      '1M;',
      '0x10M',
      '1e3M',
      '128M ',
      ' 128M',
      '-1M',
      '١٢٨M',
      '__proto__',
      'UTC\n',
      'Europe/Berlin"',
      'exec,\nsystem',
    ],
  ),
)
const value = oneof(hostile, integer(), boolean(), constantFrom(null, undefined, {}, [], 1.5, Number.NaN, Infinity, -0))

test('a hostile setting is never written: what comes out parses to what was meant, or nothing comes out', () => {
  let written = 0
  assert(
    property(
      dictionary(oneof(constantFrom(...Object.keys(PHP_DIRECTIVES)), hostile), value, { maxKeys: 3 }),
      (settings) => {
        let text: string
        try {
          text = fpmConfiguration(spec(settings), layout)
        } catch {
          return
        }
        written++
        const pool = parse(text).at(1)
        for (const [name, meant] of Object.entries(settings)) {
          if (meant === undefined) continue
          const directive = PHP_DIRECTIVES[name as keyof typeof PHP_DIRECTIVES]
          expect(directive).toBeDefined()
          const found = pool?.get(`php_value[${name}]`) ?? pool?.get(`php_admin_value[${name}]`)
          expect(found).toBeDefined()
          expect(takes(directive, meant)).toBeTrue()
          // Sizes and times are cut to the limits of the subscription.
          if (typeof meant === 'boolean') expect(found).toBe(meant ? 'on' : 'off')
          else if (!(name in LIMITED_DIRECTIVES)) expect(found).toBe(`${meant}`)
        }
      },
    ),
    { numRuns: 3000 },
  )
  expect(written).toBeGreaterThan(50)
})

test('variables are names in the configuration, and values in the environment of the master alone', () => {
  const environment = [
    { name: 'DB_PASSWORD', value: `"; listen = /tmp/x\n[global]\n\${PATH} $pool é` },
    { name: 'TMPDIR', value: '/elsewhere' },
  ]
  const pools = [7, 8].map((siteId) => ({ siteId, settings: {}, noPhpIn: [], environment }))
  const wanted = spec({}, { pools })
  const [, seven, eight] = parse(fpmConfiguration(wanted, layout))
  expect(seven?.get('env[DB_PASSWORD]')).toBe('$S7_DB_PASSWORD')
  expect([seven?.get('env[TMPDIR]'), seven?.get('env[TMP]')]).toEqual(['$S7_TMPDIR', '/srv/ncp/ncp-s12/sites/7/tmp'])
  expect(eight?.get('env[DB_PASSWORD]')).toBe('$S8_DB_PASSWORD')
  expect(environmentOf(wanted)).toEqual({
    S7_DB_PASSWORD: environment[0]?.value,
    S7_TMPDIR: '/elsewhere',
    S8_DB_PASSWORD: environment[0]?.value,
    S8_TMPDIR: '/elsewhere',
  } as Record<string, string>)
})

test('a hostile name of a variable is never written', () => {
  assert(
    property(oneof(hostile, constantFrom('LD_PRELOAD', 'PHP_INI_SCAN_DIR', 'PATH', 'A', '_1', 'A]')), (name) => {
      const wanted = spec({}, { environment: [{ name, value: 'x' }] })
      if (isVariableName(name) && !isReserved(name)) return void parse(fpmConfiguration(wanted, layout))
      expect(() => fpmConfiguration(wanted, layout)).toThrow('not the name of a variable')
      expect(() => environmentOf(wanted)).toThrow('not the name of a variable')
    }),
    { numRuns: 2000 },
  )
})

test('hostile numbers of a subscription or a site become no path', () => {
  for (const bad of [0, -1, 1.5, Number.NaN, Infinity, '7' as never, '../7' as never, null as never, 2 ** 60]) {
    const pools = [{ siteId: bad, settings: {}, noPhpIn: [], environment: [] }]
    expect(() => fpmConfiguration(spec({}, { pools }), layout)).toThrow('not a whole number')
    expect(() => fpmConfiguration(spec({}, { subscriptionId: bad }), layout)).toThrow('not a whole number')
    expect(() => fpmConfiguration(spec({}, { limits: { ...DEFAULT_PHP_LIMITS, workers: bad } }), layout)).toThrow()
  }
})

test('a directory without PHP is plain names, or no script is written', () => {
  assert(
    property(array(oneof(hostile, constantFrom('wp-content/uploads', 'files', 'a.b/c')), { maxLength: 4 }), (list) => {
      if (list.every(isPlainDirectory)) {
        const quoted = list.map((directory) => `'${directory}'`).join(', ')
        expect(guardScript(list)).toContain(`foreach ([${quoted}] as`)
      } else expect(() => guardScript(list)).toThrow('not a plain directory')
    }),
    { numRuns: 2000 },
  )
  for (const bad of [
    '',
    '/',
    '/etc',
    'a/',
    'a//b',
    '..',
    'a/../b',
    '.git',
    "a'",
    'a\n',
    'a\\b',
    `${'a'.repeat(256)}`,
  ]) {
    expect(isPlainDirectory(bad)).toBeFalse()
  }
})
