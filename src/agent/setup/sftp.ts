/** What the system's OpenSSH does for customers: SFTP by key into their own directory, and nothing else. */
import { existsSync, mkdirSync, readFileSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { type NodeLayout, SFTP_GROUP } from '../layout.ts'
import { ownFile } from './file.ts'
import { runProgram } from './program.ts'
import type { Step } from './step.ts'
import { hasSystemd } from './systemd.ts'

const CONFIGURATION = '/etc/ssh/sshd_config'
const DROP_IN = '/etc/ssh/sshd_config.d/50-ncp.conf'
const INCLUDE = 'Include /etc/ssh/sshd_config.d/*.conf'
/** sshd does not even test its configuration without it. */
const PRIVILEGE_SEPARATION = '/run/sshd'

const SETTINGS = [
  // Files must stay readable for the web server; the directory above them keeps everybody else out.
  'ForceCommand internal-sftp -u 0022',
  'AuthenticationMethods publickey',
  'PasswordAuthentication no',
  'KbdInteractiveAuthentication no',
  'AuthorizedPrincipalsFile none',
  'AuthorizedKeysCommand none',
  'DisableForwarding yes',
  'PermitTTY no',
  'PermitUserRC no',
  'PermitTunnel no',
]

export function sftp({ sites, sshKeys }: NodeLayout): Step {
  const lines = [`ChrootDirectory ${join(sites, '%u')}`, `AuthorizedKeysFile ${join(sshKeys, '%u')}`, ...SETTINGS]
  const file = ownFile({
    path: DROP_IN,
    text: () =>
      `# Made by 'ncp node setup', which replaces it.\nMatch Group ${SFTP_GROUP}\n${lines.map((line) => `  ${line}\n`).join('')}Match all\n`,
    test: testSshd,
    changed: () => {
      // Debian's name and that of other systems; the one that is not there fails.
      if (hasSystemd()) for (const unit of ['ssh', 'sshd']) runProgram('systemctl', 'try-reload-or-restart', unit)
    },
  })

  return {
    ...file,
    look() {
      if (!existsSync(CONFIGURATION)) return []
      if (!/^\s*Include\s+\/etc\/ssh\/sshd_config\.d\/\*\.conf\s*$/im.test(readFileSync(CONFIGURATION, 'utf8'))) {
        const advice = `put this line at the top of ${CONFIGURATION}: ${INCLUDE}`
        return [{ what: `${DROP_IN}, which sshd would not read`, state: 'blocked', advice }]
      }
      return file.look()
    },
  }
}

/** @throws Error with what sshd says */
function testSshd(): void {
  const isMissing = !existsSync(PRIVILEGE_SEPARATION)
  if (isMissing) mkdirSync(PRIVILEGE_SEPARATION, { mode: 0o755 })
  try {
    const { exitCode, stderr } = runProgram('/usr/sbin/sshd', '-t')
    if (exitCode !== 0) throw new Error(`sshd refuses its configuration: ${stderr}`)
  } finally {
    if (isMissing) rmdirSync(PRIVILEGE_SEPARATION)
  }
}
