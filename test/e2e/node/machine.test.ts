/** The test node itself: what happens in it stays in it. */
import { expect } from 'bun:test'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeTest, startNodeMachine, usingNodeMachine } from '../../harness/node-machine.ts'
import { until } from '../../harness/until.ts'

const machine = await usingNodeMachine()

const portOf = (server: Server) => (server.address() as { port: number }).port
/** Whether the process is there, and has not merely left its exit code. */
const isAlive = (pid: number) =>
  existsSync(`/proc/${pid}/exe`) && !/ Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))

nodeTest('a user made inside is not outside', async () => {
  await machine.bash('useradd --uid 200001 --user-group --no-create-home ncp-s1')
  expect((await machine.run(['id', '-u'], { as: 'ncp-s1' })).stdout).toBe('200001\n')
  expect(readFileSync(machine.path('/etc/passwd'), 'utf8')).toContain('ncp-s1:')
  expect(readFileSync('/etc/passwd', 'utf8')).not.toContain('ncp-s1:')
})

nodeTest('files below /etc, /srv, /run, /var and /usr stay inside', async () => {
  for (const directory of ['/etc', '/srv', '/run', '/var/log', '/usr/bin', '/opt', '/home', '/root']) {
    const name = `${directory}/ncp-${crypto.randomUUID()}`
    await machine.bash(`echo inside >${name}`)
    expect(readFileSync(machine.path(name), 'utf8')).toBe('inside\n')
    expect(existsSync(name)).toBeFalse()
  }
})

nodeTest('ports 80 and 443 are free, over IPv4 and IPv6, and reached from outside by a socket', async () => {
  writeFileSync(
    machine.path('/srv/serve.ts'),
    `for (const port of [80, 443]) Bun.serve({ port, hostname: '::', fetch: (request) => new Response(\`\${port} \${request.headers.get('host')}\`) })
     console.log('ready')`,
  )
  const server = machine.spawn(['bun', '/srv/serve.ts'])
  await until('the server', () => server.stdout().includes('ready'))
  for (const address of ['127.0.0.1', '[::1]', '203.0.113.7', '[2001:db8::7]']) {
    expect((await machine.run(['curl', '-s', `http://${address}/`])).stdout).toBe(`80 ${address}`)
  }
  const unix = await machine.socketTo(443)
  expect(await (await fetch('http://a.test/', { unix })).text()).toBe('443 a.test')
  server.kill()
  expect(await server.ended()).not.toBe(0)
})

nodeTest('a server on the host’s loopback can be brought in', async () => {
  const server = createServer((_, response) => response.end('from outside')).listen(0, '127.0.0.1')
  await until('the server', () => server.listening)
  const url = `http://127.0.0.1:${portOf(server)}/`
  expect((await machine.run(['curl', '-s', url])).exitCode).not.toBe(0)
  await machine.bringIn(portOf(server))
  expect((await machine.run(['curl', '-s', url])).stdout).toBe('from outside')
  server.close()
})

nodeTest('the sources and the program can be used by every user', async () => {
  const { stdout, exitCode } = await machine.run(['ncp', '--version'], { as: 65534 })
  expect([stdout.trim(), exitCode]).toEqual([expect.stringMatching(/^\d+\.\d+\.\d+/), 0])
})

nodeTest('settings of the kernel that are the host’s cannot be changed', async () => {
  expect((await machine.run(['sysctl', '-w', 'fs.protected_symlinks=1'])).exitCode).not.toBe(0)
  expect((await machine.run(['sysctl', '-w', 'net.ipv4.ip_unprivileged_port_start=1'])).exitCode).toBe(0)
})

nodeTest('a bind mount can refuse to follow links, and directories take ACLs', async () => {
  await machine.bash(`
    mkdir -p /srv/tree /run/view
    echo secret >/srv/tree/file
    ln -s file /srv/tree/link
    mount --bind /srv/tree /run/view
    mount -o bind,remount,nosymfollow,ro /run/view
    mkdir -m 710 /srv/gate
    setfacl -m u:65534:x /srv/gate
    echo open >/srv/gate/file
  `)
  expect((await machine.run(['cat', '/run/view/file'])).stdout).toBe('secret\n')
  expect((await machine.run(['cat', '/run/view/link'])).stderr).toContain('Too many levels of symbolic links')
  expect((await machine.run(['cat', '/srv/gate/file'], { as: 65534 })).stdout).toBe('open\n')
  expect((await machine.run(['cat', '/srv/gate/file'], { as: 65533 })).stderr).toContain('Permission denied')
})

nodeTest('its end is the end of all processes, also of those that have detached themselves', async () => {
  const own = await startNodeMachine()
  await own.bash('setsid --fork sleep 1000')
  const sleeper = own.spawn(['sleep', '1000'])
  const [inside = ''] = (await own.bash('pidof sleep')).split(' ')
  expect(Number(inside)).toBeLessThan(1000)
  const root = own.path('/')
  const pid = sleeper.pid()
  expect(isAlive(pid)).toBeTrue()
  await own[Symbol.asyncDispose]()
  expect(isAlive(pid)).toBeFalse()
  expect(existsSync(root)).toBeFalse()
})

nodeTest('it ends with the test that is killed', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'ncp-killed-'))
  const script = join(directory, 'killed.ts')
  writeFileSync(
    script,
    `import { startNodeMachine } from '${import.meta.dir}/../../harness/node-machine.ts'
     const machine = await startNodeMachine()
     console.log(machine.spawn(['sleep', '1000']).pid())
     await new Promise(() => setInterval(() => {}, 1000))`,
  )
  const test = Bun.spawn([process.execPath, script], { env: { ...Bun.env, TMPDIR: directory }, stdout: 'pipe' })
  const { value } = await test.stdout.getReader().read()
  const pid = Number(new TextDecoder().decode(value))
  expect(isAlive(pid)).toBeTrue()
  test.kill('SIGKILL')
  await until('the end of the node', () => !isAlive(pid))
  rmSync(directory, { recursive: true })
})
