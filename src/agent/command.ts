/** Runs a program of the system as root, with nothing of the agent's environment. */
const ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }

/** @throws Error with what it wrote to standard error, when it fails */
export async function command(...args: readonly [string, ...string[]]): Promise<void> {
  const child = Bun.spawn([...args], { cwd: '/', env: ENVIRONMENT, stdio: ['ignore', 'ignore', 'pipe'] })
  const [complaint, exitCode] = await Promise.all([Bun.readableStreamToText(child.stderr), child.exited])
  if (exitCode !== 0) throw new Error(`${args.join(' ')} failed with ${exitCode}: ${complaint.trim()}`)
}

/** Before a program that must not go on when the agent is killed: the next agent would meet it at its work. prctl(2) */
export const DIES_WITH_AGENT = ['/usr/bin/setpriv', '--pdeathsig=KILL'] as const

/**
 * Removes a directory with all that is in it, even if its owner exchanges directories for links at the same time: GNU rm
 * goes by descriptors, and proves each directory that it has entered.
 */
export const removeTree = (path: string): Promise<void> =>
  command(...DIES_WITH_AGENT, 'rm', '--recursive', '--force', '--one-file-system', '--', path)
