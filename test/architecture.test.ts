/** The house rules that a machine can hold: which way imports run, and who may touch what. */
import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  filesIn,
  type Import,
  importsIn,
  layerOf,
  reachAmong,
  roomOf,
  rooms,
  runsUp,
  sourceOf,
} from '../scripts/imports.ts'
import { WORKAROUNDS } from '../src/system/workarounds.ts'

const root = join(import.meta.dir, '..')
const files = filesIn('src')
const imports = importsIn('src')

test('the rules below are checked on real imports', () => {
  expect(files.length).toBeGreaterThan(50)
  expect(imports.length).toBeGreaterThan(150)
  for (const { to } of imports) expect(files).toContain(to)
})

test('imports run one way between layers and between rooms, type imports included', () => {
  expect(imports.filter(runsUp)).toEqual([])
})

test('the order of rooms names exactly the rooms that exist', () => {
  expect([...new Set(files.map(roomOf))].sort()).toEqual(rooms.toSorted())
})

test('http/ imports no feature, and core/ nothing of ours', () => {
  const leaving = (folder: string) =>
    imports.filter(({ from, to }) => from.startsWith(folder) && !to.startsWith(folder))
  expect(leaving('src/http/').length).toBeGreaterThan(20)
  expect(leaving('src/http/').filter(({ to }) => /features|module\.ts|platform\.ts|panel\.ts/.test(to))).toEqual([])
  expect(leaving('src/core/')).toEqual([])
})

test('agent/, which runs as root, imports nothing of the panel', () => {
  const leaving = imports.filter(({ from, to }) => from.startsWith('src/agent/') && !to.startsWith('src/agent/'))
  expect(leaving.length).toBeGreaterThan(20)
  const allowed = /^src\/(core|jobs|log|node|site-logs|system|unpack)\/|^src\/threads\.ts$/
  expect(leaving.filter(({ to }) => !allowed.test(to))).toEqual([])
  const reached = reachAmong(imports)
  const ofAgent = new Set(leaving.flatMap(({ from }) => [...(reached.get(from) ?? [])]))
  expect([...ofAgent].filter((file) => /^src\/(db|features|http|config|platform)/.test(file))).toEqual([])
})

/** @throws Error that names the files of a cycle */
function requireNoCycle(edges: readonly Import[]): void {
  const next = Map.groupBy(edges, ({ from }) => from)
  const done = new Set<string>()
  function walk(file: string, path: string[]): void {
    if (path.includes(file)) throw new Error(`a cycle: ${[...path, file].join(' -> ')}`)
    if (done.has(file)) return
    for (const { to } of next.get(file) ?? []) walk(to, [...path, file])
    done.add(file)
  }
  for (const file of next.keys()) walk(file, [])
}

test('no file imports itself through others, even for a type', () => {
  requireNoCycle(imports)
})

test('no file of the release imports itself through others, even for a type', () => {
  const release = importsIn('release')
  expect(release.length).toBeGreaterThan(5)
  requireNoCycle(release)
})

test('a feature imports no other at run time; the features of account/ share a floor, and those of hosting/', () => {
  const isFeature = (file: string) => file.startsWith('src/features/')
  const floors: Record<string, string[]> = {
    'src/features/account/': ['account', 'account/credentials', 'account/proof'],
    'src/features/hosting/': ['hosting', 'hosting/tls'],
  }
  const isAboveFloor = ({ from, to }: Import) =>
    Object.entries(floors).some(([folder, rooms]) => from.startsWith(folder) && rooms.includes(roomOf(to)))
  const crossing = imports
    .filter(({ from, to, typeOnly }) => isFeature(from) && isFeature(to) && roomOf(from) !== roomOf(to) && !typeOnly)
    .filter((one) => !isAboveFloor(one))
  expect(crossing.map(({ from, to }) => `${from} ${to}`)).toEqual([
    // Administrators are shown what users are shown of themselves.
    'src/features/account/administration/api-key-routes.ts src/features/account/api-keys/model.ts',
    'src/features/account/administration/session-routes.ts src/features/account/session/model.ts',
  ])
})

test('services and everything below do not know Elysia', () => {
  const below = files.filter((file) => ['core', 'technical', 'service'].includes(layerOf(file)))
  expect(below.filter((file) => /from '(elysia|@elysiajs\/[^']+)'/.test(sourceOf(file)))).toEqual([])
})

test('the version of the store is read once per request, by the gate', () => {
  expect(files.filter((file) => /\bstore\.version\b/.test(sourceOf(file)))).toEqual([
    // Handed to the gate.
    'src/app.ts',
    // Once more for a credential whose request has taken its time to arrive.
    'src/features/account/credentials/credentials.ts',
    'src/features/operation/nodes/credentials.ts',
    // Outside of requests too, and where what a request wants is not remembered.
    'src/settings/stored.ts',
  ])
})

test('only config/load.ts reads the environment', () => {
  expect(files.filter((file) => /process\.env|Bun\.env|import\.meta\.env/.test(sourceOf(file)))).toEqual([
    'src/config/load.ts',
  ])
})

test('only data-directory.ts names the files of the data directory', () => {
  const names =
    /['"`/](ncp\.(db|lock)|(jwt|totp)\.key|initial-admin-password|demo\.json|(acme|cert|key)\.pem|restore-unfinished)\b/
  expect(files.filter((file) => names.test(sourceOf(file)))).toEqual(['src/data-directory.ts'])
})

test('routes never return status(), and few files create a Response', () => {
  expect(files.filter((file) => /return status\(|\berror\(\d/.test(sourceOf(file)))).toEqual([])
  expect(files.filter((file) => /new Response\(/.test(sourceOf(file)))).toEqual([
    'src/docs/well-known.ts',
    'src/embedded/listener.ts',
    'src/embedded/reply.ts',
    'src/http/conditional.ts',
    'src/http/cors.ts',
    'src/http/download.ts',
    'src/http/errors.ts',
    'src/http/event-stream.ts',
    'src/http/listen.ts',
    'src/http/metrics-token.ts',
    'src/http/redirect.ts',
    'src/http/static-file.ts',
    'src/metrics/listener.ts',
    'src/tls/acme/challenge.ts',
  ])
})

test('response headers are set in the request context, because `set.headers` can lose them', () => {
  expect(files.filter((file) => /set\.headers\b/.test(sourceOf(file)))).toEqual(['src/http/request-context.ts'])
})

test('only db/sqlite/ opens SQLite, and only code that handles the database file imports that folder', () => {
  const opening = files.filter((file) => /from 'bun:sqlite'/.test(sourceOf(file)))
  expect(opening.length).toBeGreaterThan(5)
  expect(opening.filter((file) => !file.startsWith('src/db/sqlite/'))).toEqual([])
  const reaching = imports.filter(({ from, to }) => !from.startsWith('src/db/') && to.startsWith('src/db/sqlite/'))
  expect([...new Set(reaching.map(({ from }) => from))]).toEqual([
    // Copies, checks and replaces the file.
    'src/backup/create.ts',
    'src/backup/restore.ts',
    'src/backup/verify.ts',
    // Commands about the data directory and the file in it.
    'src/cli/audit.ts',
    'src/cli/backup.ts',
    'src/cli/doctor/backups.ts',
    'src/cli/doctor/clock.ts',
    'src/cli/doctor/data-directory.ts',
    'src/cli/doctor/database.ts',
    'src/cli/migrate.ts',
    // Proves the file of a backup.
    'src/features/operation/audit/prove-file.ts',
    // Chooses the engine.
    'src/platform.ts',
  ])
})

test('queries use only what every engine supports, and db/statements.ts runs them', () => {
  const above = files.filter((file) => !file.startsWith('src/db/'))
  // Drizzle's dialects, and what is there on one of its builders and not on another.
  const ofOneEngine = [
    /from 'drizzle-orm\/[^']+'/,
    /\.prepare\(\)/,
    /\)\s*\.(get|all|run)\(\s*[){]/,
    /\)\s*\.values\(\s*\)/,
    /\b(tx|queries|read)\s*\.(get|all|run|values)\b/,
    /sqlite_|\bINDEXED BY\b|\binstr\(|\bPRAGMA\b/,
  ]
  for (const pattern of ofOneEngine) {
    expect(above.filter((file) => pattern.test(sourceOf(file)))).toEqual([])
  }
})

test('only system/ calls into the C library, and only marked folders depend on what the runtime lacks', () => {
  const outside = (rule: RegExp, ...folders: string[]) =>
    files.filter((file) => rule.test(sourceOf(file)) && !folders.some((folder) => file.startsWith(folder)))
  expect(outside(/['"]bun:ffi['"]/, 'src/system/')).toEqual([])
  expect(outside(/from '[^']*\/libc\.ts'/, 'src/system/')).toEqual([])
  expect(outside(/mapped-file\.ts'/, 'src/db/sqlite/fast/')).toEqual([])
  expect(outside(/\bsetPriority\b/, 'src/system/')).toEqual([])
  expect(files.some((file) => file.startsWith('src/db/sqlite/fast/'))).toBeTrue()
})

test('every workaround has a row with its test, and with its upstream issue or a statement that there is none', () => {
  const [, table = ''] = sourceOf('src/system/README.md').split(/^\| switch .*$/m)
  const rows = table
    .slice(0, table.indexOf('\n\n'))
    .split('\n')
    .filter((line) => line.startsWith('| `'))
  expect(rows.map((row) => /^\| `([a-z0-9-]+)`/.exec(row)?.[1])).toEqual([...WORKAROUNDS])
  for (const row of rows) {
    expect(row).toMatch(/https:\/\/github\.com\/[\w-]+\/[\w-]+\/(issues|pull)\/\d+|no upstream issue known/)
    const tests = [...row.matchAll(/`(test\/[^`]+)`/g)].map(([, path]) => `${path}`)
    expect(tests.length).toBeGreaterThan(0)
    for (const path of tests) expect(existsSync(join(root, path))).toBeTrue()
  }
})

/** Who owns the tables of a file of db/tables/: the only one that writes them, in a folder or a file below src/. */
const owners: Record<string, string> = {
  'allowances.ts': 'features/account/allowance.ts',
  'api-keys.ts': 'features/account/api-keys/',
  'audit.ts': 'features/operation/audit/',
  'certificates.ts': 'features/hosting/certificates/',
  'deployments.ts': 'features/hosting/deployments/',
  'emails.ts': 'features/account/email/',
  'events.ts': 'features/hosting/events/',
  'idempotency.ts': 'http/idempotency/',
  'jobs.ts': 'jobs/',
  'node.ts': 'node/',
  'nodes.ts': 'features/operation/nodes/',
  'passwords.ts': 'features/account/password/',
  'proof.ts': 'features/account/proof/',
  'sessions.ts': 'features/account/session/',
  'settings.ts': 'features/operation/settings/',
  'site-variables.ts': 'features/hosting/environment/',
  'sites.ts': 'features/hosting/sites/',
  'ssh-keys.ts': 'features/hosting/ssh-keys/',
  'subscriptions.ts': 'features/hosting/subscriptions/',
  'two-factor.ts': 'features/account/two-factor/',
  'usage.ts': 'features/hosting/usage/',
  'users.ts': 'features/account/users/',
}

/** Who else writes a table, and why. */
const otherWriters: Record<string, string> = {
  'features/account/credentials/usage.ts apiKeys': 'times of use, of keys and sessions in one transaction',
  'features/account/credentials/usage.ts sessions': 'times of use, of keys and sessions in one transaction',
  'features/account/email/email-change.ts users': 'the email',
  'features/account/password/password.ts emailChanges': 'a new password takes back a change that waits',
  'features/account/password/password.ts users': 'the password',
  'features/account/proof/password-tokens.ts passwordTokens':
    'tokens are made and voided by several topics of an account',
  'features/account/proof/second-factor.ts recoveryCodes': 'a code is spent by what it proves',
  'features/account/proof/second-factor.ts users': 'the last time step of a code',
  'features/account/session/login.ts users': 'the last login, and a hash of today for an old one',
  'features/account/two-factor/two-factor.ts users': 'the second factor',
  'features/hosting/sites/old-deployments.ts deployments': 'which go when a node reports another: one transaction',
  'features/hosting/sites/observed-certificates.ts certificateChallenges': 'a report says which are answered',
  'features/hosting/sites/observed-certificates.ts certificateNames': 'a report says whose key is lost',
  'features/hosting/sites/observed-certificates.ts certificateWork': 'what a report leaves to do',
  'features/hosting/sites/observed-certificates.ts certificates': 'a report has a request, or says what is served',
  'features/hosting/sites/observed.ts deployments':
    'a report on a release also changes what its site is to serve: one transaction',
  'features/hosting/tls/summary.ts sites':
    'what is shown of the certificates of a site, in its row: no join for a list',
  'features/operation/nodes/nodes.ts sites': 'those of a node that is removed are served by nobody',
  'features/hosting/sites/observed.ts subscriptions': 'what its files take, as its node reports it',
  'features/hosting/subscriptions/subscriptions.ts sites':
    'a suspension changes what the node is to do for each of them',
}

/** Who else reads a table, and why: each would be a query of another engine or machine, were the owner moved to one. */
const otherReaders: Record<string, string> = {
  'platform.ts users': 'whether the installation is new',
  'features/account/api-keys/expiry-notices.ts users': 'who is active, to be told',
  'features/account/credentials/principals.ts apiKeys': 'credential and user in one statement, at every request',
  'features/account/credentials/principals.ts sessions': 'credential and user in one statement, at every request',
  'features/account/credentials/principals.ts users': 'credential and user in one statement, at every request',
  'features/account/notices.ts users': 'whom to tell',
  'features/account/password/password-reset.ts users': 'whose password is reset',
  'features/account/proof/confirm-password.ts users': 'the hash that a password is held against',
  'features/account/proof/throttle.ts users': 'whether there is the user at all',
  'features/account/session/sessions.ts users': 'whether it is an administrator who is logged out',
  'features/hosting/certificates/certificates.ts sites': 'which node has to serve what is uploaded',
  'features/hosting/certificates/foreign-names.ts siteDomains': 'whose names a certificate is good for too',
  'features/hosting/certificates/foreign-names.ts sites': 'whose names a certificate is good for too',
  'features/hosting/certificates/foreign-names.ts subscriptions': 'whose names a certificate is good for too',
  'features/hosting/certificates/site.ts siteDomains': 'its names, which certificates are for',
  'features/hosting/certificates/site.ts sites': 'whether it is being deleted',
  'features/hosting/certificates/worker.ts sites': 'which of those that are due are on a node',
  'features/hosting/deployments/deployments.ts sites': 'how many of a subscription wait',
  'features/hosting/site-access.ts sites': 'which site a request is about, for all features of hosting/',
  'features/hosting/site-access.ts subscriptions': 'whose site it is, in one statement with it',
  'features/hosting/deployments/find-archive.ts sites': 'whether the node serves the site of an archive',
  'features/hosting/sites/desired-tls.ts certificateChallenges': 'what its node is to answer',
  'features/hosting/sites/desired-tls.ts certificates': 'what its node is to request',
  'features/hosting/sites/desired.ts deployments': 'what its node is to unpack, and to keep',
  'features/hosting/sites/deployed.ts deployments':
    'whether a node has anything of a site, and whether one is on its way',
  'features/hosting/environment/environment.ts sites': 'how much all of a subscription have',
  'features/hosting/sites/desired-environment.ts siteVariables': 'what PHP on its node finds in its environment',
  'features/hosting/sites/desired.ts sshKeys': 'who may use SFTP on its node',
  'features/hosting/sites/desired.ts subscriptions': 'whether it is suspended',
  'features/hosting/sites/zones.ts subscriptions': 'whose sites are above and below a name',
  'features/hosting/sites/sites.ts subscriptions': 'whose site it is, in one statement with its names',
  'features/hosting/subscriptions/scope.ts sites': 'which subscription the sites of a key are in',
  'features/hosting/subscriptions/subscriptions.ts apiKeys': 'how many go with it',
  'features/hosting/subscriptions/subscriptions.ts users': 'whether there is the user at all',
  'features/hosting/tls/rows.ts certificates': 'for all of hosting/: what is issued',
  'features/hosting/tls/summary.ts certificateNames': 'what has failed for its names',
  'features/hosting/tls/summary.ts siteDomains': 'its names',
  'features/hosting/usage/usage.ts sites': 'whose site it is that a node reports on',
  'settings/stored.ts settings': 'the settings, for everything that depends on them',
}

/** The tables, each with its file in db/tables/. */
const tableFiles = new Map(
  files
    .filter((file) => file.startsWith('src/db/tables/'))
    .flatMap((file) =>
      [...sourceOf(file).matchAll(/^export const (\w+) = table\(/gm)].map(([, name]) => [
        `${name}`,
        file.slice('src/db/tables/'.length),
      ]),
    ),
)

/** What a file above db/ does with tables, under the names of `db/tables.ts`. */
function tablesOf(file: string): { used: string[]; written: string[] } {
  const source = sourceOf(file)
  const [, names = ''] = /^import \{([^}]*)\} from '[^']*db\/tables\.ts'/m.exec(source) ?? []
  const imported = names.split(',').flatMap((part) => {
    const [table = '', as = table] = part.trim().split(' as ')
    return table === '' ? [] : [{ table, as }]
  })
  const isWritten = (as: string) => new RegExp(`\\.(insert|update|delete)\\(\\s*${as}\\b`).test(source)
  return {
    used: imported.map(({ table }) => table),
    written: imported.filter(({ as }) => isWritten(as)).map(({ table }) => table),
  }
}

test('a table is written by its owner and read by few others', () => {
  expect([...new Set(tableFiles.values())].sort()).toEqual(Object.keys(owners).sort())
  for (const owner of Object.values(owners)) {
    expect(files.filter((file) => file.startsWith(`src/${owner}`)).length).toBeGreaterThan(0)
  }
  const writing: string[] = []
  const reading: string[] = []
  for (const file of files.filter((file) => !file.startsWith('src/db/'))) {
    const name = file.slice('src/'.length)
    const { used, written } = tablesOf(file)
    for (const table of used) {
      const tableFile = tableFiles.get(table)
      expect([name, table, tableFile]).toEqual([name, table, expect.any(String)])
      if (name.startsWith(owners[tableFile ?? ''] ?? '?')) continue
      ;(written.includes(table) ? writing : reading).push(`${name} ${table}`)
    }
  }
  expect(writing.sort()).toEqual(Object.keys(otherWriters).sort())
  expect(reading.sort()).toEqual(Object.keys(otherReaders).sort())
})

test('changes made for a caller go through `writeAs`, which proves the caller in its transaction', () => {
  const aboveDb = files.filter((file) => layerOf(file) !== 'technical')
  // The others write for no caller: counts of attempts, times of use, and what the panel does by a timer of its own.
  const knowsWrite = (file: string) => /import [^'"]*\bStore\b[^'"]*from '[^']*db\/store\.ts'/.test(sourceOf(file))
  expect(aboveDb.filter(knowsWrite)).toEqual([
    'src/features/account/api-keys/expiry-notices.ts',
    'src/features/account/credentials/usage.ts',
    'src/features/account/credentials/write-as.ts',
    'src/features/account/proof/throttle.ts',
    'src/features/operation/audit/incidents.ts',
    'src/features/operation/audit/retention.ts',
    'src/features/operation/audit/sums.ts',
  ])
  const writes = (file: string) => /\bstore\b[\s)]*\.write|\bwrite(Soon)?\b[^=]*= (\w+\.)?store\b/.test(sourceOf(file))
  expect(aboveDb.filter((file) => writes(file) && !knowsWrite(file))).toEqual([])
})

test('randomness comes only from the operating system, and time only from the clock passed in', () => {
  expect(files.filter((file) => /Math\.random/.test(sourceOf(file)))).toEqual([])
  expect(files.filter((file) => /Date\.now\(|new Date\(\)/.test(sourceOf(file)))).toEqual(['src/core/clock.ts'])
})

test('recurring work is a task, which stops in order and never overlaps itself', () => {
  expect(files.filter((file) => /\bsetInterval\(/.test(sourceOf(file)))).toEqual([
    // Two timers are no tasks: the disk thread has no log, and a measurement must cost less than what it measures.
    'src/db/sqlite/fast/disk-thread.ts',
    'src/jobs/task.ts',
    'src/metrics/event-loop.ts',
  ])
})

test('terminal output goes through one file, which escapes control sequences in untrusted text', () => {
  const writing = files.filter((file) =>
    /process\.std(out|err)\.write|console\.|Bun\.std(out|err)\b/.test(sourceOf(file)),
  )
  expect(writing).toEqual(['src/cli/output.ts'])
})

test('every file opens with a sentence, and none is too long', () => {
  expect(files.filter((file) => !/^\/\*\* .+/.test(sourceOf(file)))).toEqual([])
  expect(files.filter((file) => sourceOf(file).split('\n').length > 300)).toEqual([])
})

test('files are named in kebab-case, and no folder is a catch-all', () => {
  expect(files.filter((file) => !/^src(\/[a-z0-9-]+)+\.ts$/.test(file))).toEqual([])
  expect(files.filter((file) => /utils?|helpers?|common|manager|misc/.test(file))).toEqual([])
})

test('only test/e2e starts the program, a browser, a proxy or a node', () => {
  const tests = [...new Bun.Glob('test/**/*.test.ts').scanSync(root)]
  const starts = (file: string) =>
    /harness\/(authority|binary|browser|checkout|node-machine|proxies|strace|terminal)\.ts'/.test(sourceOf(file))
  expect(tests.filter(starts).length).toBeGreaterThan(30)
  expect(tests.filter((file) => starts(file) && !file.startsWith('test/e2e/'))).toEqual([])
})
