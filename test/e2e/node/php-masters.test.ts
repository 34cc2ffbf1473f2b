/** Masters of PHP-FPM for real: asleep until the first request, replaced, killed, failed, ended, and of one user each. */
import { expect } from 'bun:test'
import { existsSync, lstatSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { logsOf, siteOf, uidOf } from '../../../src/agent/layout.ts'
import { configurationOf, socketOf } from '../../../src/agent/php/pool.ts'
import { processesOf, titleOf } from '../../../src/agent/processes.ts'
import { createPhpNode, PHP, phpTest, sitePhp, usePhpNode, wanted } from '../../harness/php.ts'
import { until } from '../../harness/until.ts'

const node = usePhpNode()
const { layout, masters } = node

const WHO = `<?php
if (isset($_GET['wait'])) usleep(1000 * $_GET['wait']);
echo json_encode(['uid' => posix_getuid(), 'master' => posix_getppid(), 'tmp' => sys_get_temp_dir()]);`

type Who = { uid: number; master: number; tmp: string }

/** A subscription with one site that says who answers. */
async function customer(siteId: number, files: Record<string, string> = {}) {
  const id = node.subscription()
  node.write(id, siteId, { 'index.php': WHO, ...files })
  const who = async (query = ''): Promise<Who> =>
    JSON.parse((await node.ask(id, siteId, 'index.php', { QUERY_STRING: query })).body)
  return { id, uid: uidOf(id), who }
}

const mastersOf = (uid: number) => processesOf(uid).filter(({ pid }) => titleOf(pid).startsWith('php-fpm: master'))

phpTest('a customer without requests has no process; the first one starts it as his user', async () => {
  const { id, uid, who } = await customer(11)
  await masters.apply(wanted(id, [{ id: 11 }]))
  expect(processesOf(uid)).toEqual([])
  const first = await who()
  expect(first).toEqual({ uid, master: expect.any(Number), tmp: join(siteOf(layout, id, 11), 'tmp') })
  const status = readFileSync(`/proc/${first.master}/status`, 'utf8')
  for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapAmb']) expect(status).toContain(`${set}:\t0000000000000000`)
  expect(status).toMatch(/^NoNewPrivs:\t1$/m)
  expect(status).toMatch(/^Groups:\t\s*$/m)
  expect((await who()).master).toBe(first.master)
})

phpTest('a socket is root’s, for the web server to connect, where no customer can make another', async () => {
  const { id } = await customer(12)
  await masters.apply(wanted(id, [{ id: 12 }]))
  const { uid, gid, mode } = lstatSync(socketOf(layout, 12))
  expect([uid, gid, mode & 0o777]).toEqual([0, 33, 0o660])
  expect(statSync(layout.phpSockets).mode & 0o777).toBe(0o711)
  const tryTo = (user: number, command: string) =>
    Bun.spawnSync([
      ...['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups'],
      ...['perl', '-MIO::Socket::UNIX', '-e', `${command} or die`],
    ]).exitCode === 0
  const connect = `IO::Socket::UNIX->new(Peer => '${socketOf(layout, 12)}')`
  expect(tryTo(33, connect)).toBeTrue()
  for (const command of [
    connect,
    `unlink('${socketOf(layout, 12)}')`,
    `rename('${socketOf(layout, 12)}', '${layout.phpSockets}/98.sock')`,
    `symlink('/etc/passwd', '${layout.phpSockets}/99.sock')`,
    `opendir(my $directory, '${layout.phpSockets}')`,
    `opendir(my $directory, '${layout.phpSettings}')`,
  ]) {
    expect([command, tryTo(uidOf(id), command)]).toEqual([command, false])
  }
  expect(lstatSync(socketOf(layout, 12)).isSocket()).toBeTrue()
})

phpTest('what FPM reads is root’s, and no other customer’s to read', async () => {
  const { id, uid } = await customer(13)
  await masters.apply(wanted(id, [{ id: 13 }]))
  await node.ask(id, 13, 'index.php')
  const path = configurationOf(layout, { subscriptionId: id, version: PHP.version })
  const file = statSync(path)
  expect([file.uid, file.gid, file.mode & 0o777]).toEqual([0, uid, 0o640])
  const log = statSync(join(logsOf(layout, id, 13), 'php.log'))
  expect([log.uid, log.mode & 0o777]).toEqual([uid, 0o640])
  const directory = statSync(logsOf(layout, id, 13))
  expect([directory.uid, directory.gid, directory.mode & 0o777]).toEqual([0, uid, 0o750])
})

phpTest('applied again, nothing changes: the same socket and the same master', async () => {
  const { id, who } = await customer(14)
  await masters.apply(wanted(id, [{ id: 14 }]))
  const { master } = await who()
  const { ino } = lstatSync(socketOf(layout, 14))
  await masters.apply(wanted(id, [{ id: 14 }]))
  expect(lstatSync(socketOf(layout, 14)).ino).toBe(ino)
  expect((await who()).master).toBe(master)
})

phpTest('a socket that was removed or replaced behind our back comes back', async () => {
  const { id, uid, who } = await customer(15)
  await masters.apply(wanted(id, [{ id: 15 }]))
  rmSync(socketOf(layout, 15))
  await masters.apply(wanted(id, [{ id: 15 }]))
  expect((await who()).uid).toBe(uid)
  rmSync(socketOf(layout, 15))
  writeFileSync(socketOf(layout, 15), '')
  await masters.apply(wanted(id, [{ id: 15 }]))
  expect((await who()).uid).toBe(uid)
})

phpTest(
  'a changed setting is a new master; a request that runs is finished by the old one, its sleep too',
  async () => {
    const { id, uid, who } = await customer(16, { 'limit.php': '<?php echo ini_get("memory_limit");' })
    await masters.apply(wanted(id, [{ id: 16 }]))
    const before = await who()
    const slow = who('wait=1500')
    await until('the request', () => processesOf(uid).length > 1)
    await masters.apply(wanted(id, [{ id: 16, php: sitePhp({ memory_limit: '64M' }) }]))
    const after = await who()
    expect(after.master).not.toBe(before.master)
    expect((await node.ask(id, 16, 'limit.php')).body).toBe('64M')
    expect((await slow).master).toBe(before.master)
    await until('the end of the old master', () => mastersOf(uid).length === 1)
  },
)

phpTest('no request is lost while settings change ten times', async () => {
  const { id, uid, who } = await customer(17)
  await masters.apply(wanted(id, [{ id: 17 }]))
  let isDone = false
  let answers = 0
  const asking = Promise.all(
    Array.from({ length: 3 }, async () => {
      while (!isDone) {
        expect((await who()).uid).toBe(uid)
        answers++
      }
    }),
  )
  for (let change = 1; change <= 10; change++) {
    await masters.apply(wanted(id, [{ id: 17, php: sitePhp({ 'session.gc_maxlifetime': 1000 + change }) }]))
  }
  isDone = true
  await asking
  expect(answers).toBeGreaterThan(10)
})

phpTest('a site more, a site less: the others go on, and what is gone has no socket', async () => {
  const { id, uid, who } = await customer(18)
  node.write(id, 19, { 'index.php': WHO })
  await masters.apply(wanted(id, [{ id: 18 }]))
  const { master } = await who()
  await masters.apply(wanted(id, [{ id: 18 }, { id: 19 }]))
  const other = JSON.parse((await node.ask(id, 19, 'index.php')).body) as Who
  expect(other).toEqual({ uid, master: (await who()).master, tmp: join(siteOf(layout, id, 19), 'tmp') })
  expect(other.master).not.toBe(master)
  await masters.apply(wanted(id, [{ id: 19 }]))
  expect(node.hasSocket(18)).toBeFalse()
  expect(JSON.parse((await node.ask(id, 19, 'index.php')).body).uid).toBe(uid)
})

phpTest('FPM killed: the next request is served by another, and nothing of the old one is left', async () => {
  const { id, uid, who } = await customer(20)
  await masters.apply(wanted(id, [{ id: 20 }]))
  const { master } = await who()
  process.kill(master, 'SIGKILL')
  const next = await until('another master', async () => {
    const answer = await who().catch(() => undefined)
    return answer && answer.master !== master && answer.master !== 1 ? answer : undefined
  })
  expect(next.uid).toBe(uid)
  await until('the end of orphans', () =>
    processesOf(uid).every(({ pid, parent }) => pid === next.master || parent === next.master),
  )
})

phpTest('FPM that ends again and again is tried with delays, says so, and holds up nobody else', async () => {
  const broken = await customer(21)
  const healthy = await customer(22)
  await masters.apply(wanted(broken.id, [{ id: 21 }]))
  await masters.apply(wanted(healthy.id, [{ id: 22 }]))
  await until('giving up', async () => {
    const { master } = (await broken.who().catch(() => undefined)) ?? {}
    // A worker without a master has another parent, which may be any process of this machine.
    if (master !== undefined && titleOf(master).startsWith('php-fpm: master')) process.kill(master, 'SIGKILL')
    return masters.failureOf(broken.id, 21)
  })
  expect(masters.failureOf(broken.id, 21)).toEqual({
    code: 'php_unavailable',
    message: `PHP ${PHP.version} does not start; the operator of the server finds the reason in its log`,
    retryable: true,
    retryAt: expect.any(Number),
  })
  expect(node.hasSocket(21)).toBeFalse()
  expect(node.changes).toContain(broken.id)
  expect((await healthy.who()).uid).toBe(healthy.uid)
  expect(masters.failureOf(healthy.id, 22)).toBeUndefined()
  await until('another try', () => masters.failureOf(broken.id, 21) === undefined)
  expect((await broken.who()).uid).toBe(broken.uid)
})

phpTest('a version that is not installed is a state, and the site gets PHP once it has one that is', async () => {
  const { id, uid, who } = await customer(23)
  await masters.apply(wanted(id, [{ id: 23 }]))
  await who()
  await masters.apply(wanted(id, [{ id: 23, phpVersion: '9.9' }]))
  expect(masters.failureOf(id, 23)?.message).toBe('PHP 9.9 is not installed on the server; choose another version')
  expect(node.hasSocket(23)).toBeFalse()
  await until('the end of the other version', () => mastersOf(uid).length === 0)
  await masters.apply(wanted(id, [{ id: 23 }]))
  expect(masters.failureOf(id, 23)).toBeUndefined()
  expect((await who()).uid).toBe(uid)
})

phpTest('suspended: no socket, and no process of the customer, not even one that left its session', async () => {
  const { id, uid, who } = await customer(24, {
    'stay.php': '<?php exec("setsid sh -c \\"while :; do sleep 1; done\\" >/dev/null 2>&1 &"); echo "left";',
  })
  await masters.apply(wanted(id, [{ id: 24 }]))
  expect((await node.ask(id, 24, 'stay.php')).body).toBe('left')
  await until('the process', () => processesOf(uid).some(({ pid }) => titleOf(pid).includes('while')))
  await masters.apply(wanted(id, [{ id: 24 }], { state: 'suspended' }))
  expect(processesOf(uid)).toEqual([])
  expect(node.hasSocket(24)).toBeFalse()
  expect(existsSync(configurationOf(layout, { subscriptionId: id, version: PHP.version }))).toBeFalse()
  await masters.apply(wanted(id, [{ id: 24 }]))
  expect((await who()).uid).toBe(uid)
})

phpTest('a site that is removed has no PHP any longer, and the others of its subscription go on', async () => {
  const { id, uid } = await customer(31)
  node.write(id, 32, { 'index.php': WHO })
  await masters.apply(wanted(id, [{ id: 31 }, { id: 32 }]))
  await masters.removeSite(31)
  expect([node.hasSocket(31), node.hasSocket(32)]).toEqual([false, true])
  expect(JSON.parse((await node.ask(id, 32, 'index.php')).body).uid).toBe(uid)
  await masters.removeSite(32)
  expect(node.hasSocket(32)).toBeFalse()
  await masters.removeSite(999)
})

phpTest('of a subscription that is removed, no process is left, and nothing of it comes back', async () => {
  const { id, uid, who } = await customer(33)
  await masters.apply(wanted(id, [{ id: 33 }]))
  await who()
  await masters.removeSubscription(id)
  expect(processesOf(uid)).toEqual([])
  expect(node.hasSocket(33)).toBeFalse()
  await masters.look()
  await masters.removeSubscription(id)
  expect(node.hasSocket(33)).toBeFalse()
})

phpTest('a disabled site has no PHP, a static one neither', async () => {
  const { id } = await customer(25)
  await masters.apply(
    wanted(id, [
      { id: 25, state: 'disabled' },
      { id: 26, kind: 'static', phpVersion: null },
    ]),
  )
  expect([node.hasSocket(25), node.hasSocket(26)]).toEqual([false, false])
})

phpTest('an agent that is gone leaves PHP running; the next one takes over, and ends what it finds', async () => {
  const machine = createPhpNode()
  try {
    const id = machine.subscription()
    const uid = uidOf(id)
    machine.write(id, 27, { 'index.php': WHO })
    const who = async (): Promise<Who> => JSON.parse((await machine.ask(id, 27, 'index.php')).body)
    await machine.masters.apply(wanted(id, [{ id: 27 }]))
    const { master } = await who()
    machine.masters.close()
    expect((await who()).master).toBe(master)
    const next = machine.open()
    expect((await who()).master).toBe(master)
    await next.apply(wanted(id, [{ id: 27 }]))
    const after = await who()
    expect([after.uid, after.master === master]).toEqual([uid, false])
    await until('the end of the old master', () => mastersOf(uid).every(({ pid }) => pid !== master))
    expect((await who()).master).toBe(after.master)
  } finally {
    await machine.close()
  }
})

phpTest('a master that is not needed ends, and the next request starts another', async () => {
  let now = 0
  const idle = createPhpNode({ clock: { now: () => now, elapsedMs: () => now }, idleMs: 60_000 })
  try {
    const id = idle.subscription()
    idle.write(id, 28, { 'index.php': WHO })
    await idle.masters.apply(wanted(id, [{ id: 28 }]))
    const ask = async (): Promise<Who> => JSON.parse((await idle.ask(id, 28, 'index.php')).body)
    const first = await ask()
    now = 50_000
    await idle.masters.look()
    expect(idle.masters.countRunning()).toBe(1)
    // Its worker was there at the last look; it ends by itself.
    await until('the end of its worker', () => processesOf(uidOf(id)).length === 1)
    now = 200_000
    await idle.masters.look()
    expect(idle.masters.countRunning()).toBe(0)
    await until('the end of the master', () => processesOf(uidOf(id)).length === 0)
    const second = await ask()
    expect([second.uid, second.master === first.master]).toEqual([uidOf(id), false])
  } finally {
    await idle.close()
  }
})

phpTest('nothing of one master is inherited by another customer’s, or by what a script starts', async () => {
  const { id } = await customer(29, { 'fds.php': '<?php echo shell_exec("ls -l /proc/self/fd");' })
  const other = await customer(30)
  await masters.apply(wanted(other.id, [{ id: 30 }]))
  await other.who()
  await masters.apply(wanted(id, [{ id: 29 }]))
  const { body } = await node.ask(id, 29, 'fds.php')
  expect(body).not.toContain('eventpoll')
  const { master } = JSON.parse((await node.ask(id, 29, 'index.php')).body) as Who
  const sockets = readdirSync(`/proc/${master}/fd`).length
  expect(sockets).toBeLessThan(15)
})
