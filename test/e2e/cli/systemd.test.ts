/** `ncp systemd` of the compiled binary, and what systemd itself says of the unit. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { type Installation, install } from '../../harness/binary.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

/** From Debian's package systemd. */
const hasSystemd = Bun.which('systemd-analyze') !== null
/** In tenths: 1.2 of 10. */
const EXPOSURE = 12

let here: Installation
beforeAll(async () => {
  here = await install()
})
afterAll(() => here.remove())

function analyze(...args: string[]) {
  const { exitCode, stdout, stderr } = Bun.spawnSync(['systemd-analyze', '--no-pager', ...args])
  return { exitCode, text: `${stdout}${stderr}` }
}

async function unit(...args: string[]): Promise<string> {
  const { exitCode, stdout } = await here.run(['systemd', 'print', ...args])
  expect(exitCode).toBe(0)
  return stdout
}

describe('systemd print', () => {
  test('runs the named program', async () => {
    expect(await unit('--binary', '/usr/local/bin/ncp')).toContain('\nExecStart=/usr/local/bin/ncp serve\n')
    expect(await unit('--binary', '/opt/100%/ncp')).toContain('\nExecStart=/opt/100%%/ncp serve\n')
  })

  test('never names a program that the unit would hide from itself, or that systemd would misread', async () => {
    // The one of this test is in /tmp.
    const { exitCode, stdout, stderr } = await here.run(['systemd', 'print'])
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('\nExecStart=/usr/local/bin/ncp serve\n')])
    expect(stderr).toBe(
      `The unit hides ${here.path('ncp')} from the panel: move the program to /usr/local/bin/ncp, where this unit expects it.\n`,
    )
    for (const binary of ['/root/ncp', '/tmp/ncp', 'ncp', '/opt/my programs/ncp', '/opt/ncp\nUser=root']) {
      for (const command of ['print', 'install']) {
        const refused = await here.run(
          ['systemd', command, '--binary', binary, '--root', 'refused'].slice(0, command === 'print' ? 4 : 6),
        )
        expect([binary, refused.exitCode, refused.stdout]).toEqual([binary, 2, ''])
      }
    }
    expect(existsSync(here.path('refused'))).toBe(false)
  })

  test('allows the JIT, and gives the panel no capability', async () => {
    const text = await unit()
    expect(text).not.toMatch(/^(MemoryDenyWriteExecute|LimitAS)=/m)
    expect(text).toMatch(/^CapabilityBoundingSet=$/m)
    expect(text).toMatch(/^AmbientCapabilities=$/m)
  })

  test('dumps no core, and reloads without a program of another package', async () => {
    const text = await unit()
    expect(text).toMatch(/^LimitCORE=0$/m)
    expect(text).toContain("\nExecReload=/bin/sh -c 'kill -HUP $MAINPID'\n")
  })

  test.skipIf(!hasSystemd)('is a unit that systemd fully understands', async () => {
    // The program has to be there, and the place that the unit names may be empty on this machine.
    const text = (await unit('--binary', '/usr/local/bin/ncp')).replace('/usr/local/bin/ncp', here.path('ncp'))
    writeFileSync(here.path('ncp.service'), text)
    expect(analyze('verify', here.path('ncp.service'))).toEqual({ exitCode: 0, text: '' })
  })

  test.skipIf(!hasSystemd)('has an exposure of at most 1.2 of 10', async () => {
    writeFileSync(here.path('ncp.service'), await unit())
    const options = ['--offline=true', `--threshold=${EXPOSURE}`]
    const { exitCode, text } = analyze('security', ...options, here.path('ncp.service'))
    expect([exitCode, /exposure level for ncp.service: [\d.]+/.exec(text)?.[0]]).toEqual([
      0,
      expect.stringContaining('ncp.service: 1.'),
    ])
    // The check does check: without its sandbox the same unit is refused.
    const bare = (await unit()).replaceAll(/^(Protect|Private|Restrict)\w+=.*$/gm, '')
    writeFileSync(here.path('ncp.service'), bare)
    expect(analyze('security', ...options, here.path('ncp.service')).exitCode).toBe(1)
  })
})

describe('systemd install', () => {
  test('writes the unit, the user and a first configuration below a root, and keeps an existing configuration', async () => {
    const args = ['systemd', 'install', '--root', 'root', '--binary', '/usr/bin/ncp']
    const first = await here.run(args)
    expect([first.exitCode, first.stderr]).toEqual([0, ''])
    expect(first.stdout.split('\n')).toEqual([
      'root/etc/systemd/system/ncp.service',
      'root/etc/sysusers.d/ncp.conf',
      'root/etc/ncp/ncp.toml',
      '',
    ])
    expect(here.read('root', 'etc', 'systemd', 'system', 'ncp.service')).toBe(await unit('--binary', '/usr/bin/ncp'))
    expect(here.read('root', 'etc', 'sysusers.d', 'ncp.conf')).toContain('u ncp ')
    const settings = here.path('root', 'etc', 'ncp', 'ncp.toml')
    expect((await here.run(['config', 'validate', '--config', settings])).exitCode).toBe(0)

    writeFileSync(settings, 'port = 8443\n')
    expect((await here.run(args)).stdout).not.toContain('ncp.toml')
    expect(readFileSync(settings, 'utf8')).toBe('port = 8443\n')
  })

  test('refuses a program that the unit would hide from itself', async () => {
    const { exitCode, stderr } = await here.run(['systemd', 'install', '--binary', '/root/ncp'])
    expect(exitCode).toBe(2)
    expect(stderr).toStartWith('error: the unit hides /root/ncp from the panel; move the program to /usr/local/bin/ncp')
  })
})
