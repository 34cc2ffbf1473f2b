/** The commands that make a machine a node, and what the doctor says of it. */
import { describe, expect } from 'bun:test'
import { nodeLayout } from '../../../src/agent/layout.ts'
import { type NodeMachine, nodeTest, startNodeMachine } from '../../harness/node-machine.ts'
import { until } from '../../harness/until.ts'

const layout = nodeLayout()
const TOKEN = `ncpn_${'0123456789abcdef'.repeat(4)}`

const ncp = (machine: NodeMachine, args: string[], options: Parameters<NodeMachine['run']>[1] = {}) =>
  machine.run(['ncp', ...args], options)

describe('ncp node setup', () => {
  nodeTest('prepares the machine, says what it did, and a second time says nothing', async () => {
    await using machine = await startNodeMachine()
    const check = await ncp(machine, ['node', 'setup', '--check'])
    expect([check.exitCode, check.stderr]).toEqual([1, ''])
    expect(check.stdout).toStartWith('to do\tthe user ncp-web\t\n')
    expect(await machine.bash('ls /srv')).toBe('')
    const first = await ncp(machine, ['node', 'setup'])
    expect([first.exitCode, first.stderr]).toEqual([0, ''])
    expect(first.stdout).toBe(check.stdout.replaceAll(/^to do/gm, 'done'))
    for (const args of [
      ['node', 'setup'],
      ['node', 'setup', '--check'],
    ]) {
      expect(await ncp(machine, args)).toEqual({ exitCode: 0, stdout: '', stderr: '' })
    }
    expect(await ncp(machine, ['node', 'undo', '--yes'])).toEqual({ exitCode: 0, stdout: '', stderr: '' })
    expect(await machine.bash('ls /srv')).toBe('')
  })

  nodeTest('says what is missing', async () => {
    await using machine = await startNodeMachine()
    await machine.bash('rm /usr/sbin/nginx /usr/sbin/sshd')
    const { exitCode, stdout } = await ncp(machine, ['node', 'setup'])
    expect([exitCode, stdout]).toEqual([
      1,
      'blocked\tthe packages nginx, openssh-server\tapt-get install nginx openssh-server\n',
    ])
  })

  nodeTest('keeps which panel it belongs to, and its token, for root alone', async () => {
    await using machine = await startNodeMachine()
    await machine.bash('echo PEM >/run/ca.pem')
    const args = ['node', 'setup', '--panel', 'https://panel.example.com:3443', '--ca', '/run/ca.pem']
    const { exitCode, stdout } = await ncp(machine, args, { stdin: `${TOKEN}\n` })
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('Start the agent with: ncp agent\n')])
    expect(stdout).not.toContain(TOKEN)
    expect(await machine.bash(`cat ${layout.nodeToken}; stat -c '%a %U' ${layout.nodeToken} ${layout.enrolment}`)).toBe(
      `${TOKEN}\n600 root\n600 root\n`,
    )
    expect(JSON.parse(await machine.bash(`cat ${layout.enrolment}`))).toEqual({
      panel: 'https://panel.example.com:3443',
      ca: 'PEM\n',
    })
    await ncp(machine, ['node', 'undo', '--yes'])
    expect((await machine.run(['ls', layout.nodeToken, layout.enrolment])).exitCode).not.toBe(0)
  })

  nodeTest('changes nothing when it is called wrongly', async () => {
    await using machine = await startNodeMachine()
    const wrong: [string[], string, number, string][] = [
      [['--panel', 'http://panel.example.com'], TOKEN, 2, 'an absolute path or an https address'],
      [['--panel', 'node.sock'], TOKEN, 2, 'an absolute path or an https address'],
      [['--panel', '/run/node.sock'], '', 2, "standard input holds no token: run 'ncp node add'"],
      [['--panel', '/run/node.sock'], 'ncp_key', 2, 'standard input holds no token'],
    ]
    for (const [args, stdin, code, message] of wrong) {
      const { exitCode, stderr } = await ncp(machine, ['node', 'setup', ...args], { stdin })
      expect([args, exitCode, stderr]).toEqual([args, code, expect.stringContaining(message)])
    }
    for (const command of ['setup', 'undo']) {
      const { exitCode, stderr } = await ncp(machine, ['node', command], { as: 65534 })
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining('only root can do this')])
    }
    expect(await machine.bash('ls /srv')).toBe('')
  })
})

describe('ncp agent', () => {
  nodeTest('takes over the web server that an agent before it has left', async () => {
    await using machine = await startNodeMachine()
    await ncp(machine, ['node', 'setup', '--panel', '/run/none.sock'], { stdin: TOKEN })
    const serves = async () => (await machine.run(['curl', '-s', 'http://127.0.0.1/'])).exitCode === 0
    const first = machine.spawn(['ncp', 'agent'])
    await until('the web server', serves)
    const workers = () => machine.bash('pgrep -u ncp-web')
    const before = await workers()
    first.kill('SIGKILL')
    await first.ended()
    const second = machine.spawn(['ncp', 'agent'])
    await until('the second agent', () => second.stderr().includes('was taken over'))
    expect([await workers(), await serves()]).toEqual([before, true])
    second.kill()
    await second.ended()
  })
})

describe('ncp doctor', () => {
  const doctor = async (machine: NodeMachine) => {
    const { exitCode, stdout } = await ncp(machine, ['doctor', '--json', '--data', '/var/lib/none'])
    const { checks } = JSON.parse(stdout) as {
      checks: { name: string; status: string; message: string; next: string }[]
    }
    return { exitCode, checks: checks.filter(({ name }) => name === 'node') }
  }

  nodeTest('says whether a node still is as it was prepared, and whether its web server runs', async () => {
    await using machine = await startNodeMachine()
    expect((await doctor(machine)).checks).toEqual([])
    await ncp(machine, ['node', 'setup'])
    await machine.bash('echo ada:100000:65536 >/etc/subuid; echo bob:165536:65536 >/etc/subgid.later; : >/etc/subgid')
    const stopped = await doctor(machine)
    expect([stopped.exitCode, stopped.checks.map(({ status, message }) => `${status}: ${message}`)]).toEqual([
      1,
      [
        "ok: everything is as 'ncp node setup' leaves it",
        'failed: the web server does not run',
        'ok: links of customers are refused by the kernel',
        `ok: the file system of ${layout.sites} has access control lists`,
        'ok: nobody else may act as the users of customers',
      ],
    ])

    machine.spawn([
      'bash',
      '-c',
      `ulimit -n 1024; exec env -i /usr/sbin/nginx -e stderr -c ${layout.webConfiguration} -g 'daemon off;'`,
    ])
    await until('nginx', async () => (await machine.run(['curl', '-s', 'http://127.0.0.1/'])).exitCode === 0)
    const uses = async () => (await doctor(machine)).checks.find(({ message }) => message.includes('configuration'))
    expect((await uses())?.message).toBe('the web server uses its present configuration')
    await machine.bash(`touch -d '+1 minute' ${layout.webConfiguration}; mv /etc/subgid.later /etc/subgid
      chmod 755 ${layout.names}; umount -l ${layout.view}; mount -t ramfs none ${layout.staging}`)
    const { exitCode, checks } = await doctor(machine)
    expect(exitCode).toBe(1)
    expect(checks.map(({ status, message, next }) => `${status}: ${message} → ${next}`)).toEqual([
      `failed: ${layout.names} is not as set-up leaves it → ncp node setup`,
      `failed: the mount on ${layout.view} that follows no links is not as set-up leaves it → ncp node setup`,
      `failed: ${layout.webConfiguration} is not as set-up leaves it → ncp node setup`,
      expect.stringMatching(/^ok: the web server runs \(process \d+\) → null$/),
      expect.stringMatching(/^warning: the web server may open only 1024 files → ulimit -n 65536$/),
      'warning: links of customers are refused by the web server, at twice the work a request → use Linux 5.10 or newer',
      expect.stringContaining(`failed: the file system of ${layout.sites} has no access control lists`),
      expect.stringMatching(
        /^warning: the web server still uses the configuration from before the last change → kill -HUP \d+$/,
      ),
      "warning: /etc/subgid: bob may act as the numbers 165536 to 231071, which are customers' from 200000 on → usermod --del-subgids 165536-231071 bob",
    ])
  })
})
