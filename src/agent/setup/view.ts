/** The mount through which the web server sees the files of customers: no symbolic link in it is followed. */
import type { NodeLayout } from '../layout.ts'
import { followsNoLinks, isMounted } from '../mounts.ts'
import { mustRun, runProgram } from './program.ts'
import type { Step } from './step.ts'
import { hasSystemd, VIEW_UNIT } from './systemd.ts'

const OPTIONS = 'bind,ro,nodev,nosuid,noexec,nosymfollow'

/** A kernel before 5.10 has no such mount: nginx refuses links itself there, and serves a third fewer requests. */
export function view({ sites, view: path }: NodeLayout): Step {
  return {
    look: () => [{ what: `the mount on ${path} that follows no links`, state: followsNoLinks(path) ? 'done' : 'todo' }],

    apply() {
      if (hasSystemd()) runProgram('systemctl', 'start', VIEW_UNIT)
      else runProgram('mount', '--options', OPTIONS, sites, path)
      // An older kernel ignores the option that matters, and mounts all the same.
      if (isMounted(path) && !followsNoLinks(path)) mustRun('umount', path)
    },

    undo() {
      if (hasSystemd()) runProgram('systemctl', 'stop', VIEW_UNIT)
      if (isMounted(path)) mustRun('umount', path)
      return []
    },
  }
}
