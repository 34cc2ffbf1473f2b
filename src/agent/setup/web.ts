/** The configuration of our nginx, tested by nginx itself before it stays. */
import { existsSync } from 'node:fs'
import type { NodeLayout } from '../layout.ts'
import { followsNoLinks } from '../mounts.ts'
import { webConfiguration } from '../web/configuration.ts'
import { nginxVersion } from '../web/version.ts'
import { ownFile } from './file.ts'
import { runProgram } from './program.ts'
import type { Step } from './step.ts'
import { hasSystemd, WEB_UNIT } from './systemd.ts'

const NGINX = '/usr/sbin/nginx'

export function web(layout: NodeLayout): Step {
  const file = ownFile({
    path: layout.webConfiguration,
    mode: 0o600,
    text: () =>
      webConfiguration({
        layout,
        version: versionOf(),
        refusesLinks: followsNoLinks(layout.view) ? 'mount' : 'nginx',
        hasIpv6: existsSync('/proc/net/if_inet6'),
      }),
    test() {
      // nginx makes the log that it would write, and only with this mask may nobody else read it.
      const { exitCode, stderr } = runProgram(
        '/bin/sh',
        '-c',
        `umask 077; exec ${NGINX} -e stderr -t -c "$1"`,
        'sh',
        layout.webConfiguration,
      )
      if (exitCode !== 0) throw new Error(`nginx refuses its configuration: ${stderr}`)
    },
    changed: () => {
      if (hasSystemd()) runProgram('systemctl', 'try-reload-or-restart', WEB_UNIT)
    },
  })
  // Where nginx is missing nothing can be said of its configuration.
  return { ...file, look: () => (existsSync(NGINX) ? file.look() : []) }
}

/** @throws Error when nginx does not say its version */
function versionOf() {
  const version = nginxVersion(runProgram(NGINX, '-v').stderr)
  if (!version) throw new Error('nginx does not say its version')
  return version
}
