/** Runs another program and waits for it. */

export type RunOptions = { cwd?: string; uid?: number; gid?: number }

/**
 * @returns what it printed
 * @throws Error with what it wrote to standard error, when it fails or is not there
 */
export function run(command: readonly [string, ...string[]], options: RunOptions = {}): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { ...options, stdout: 'pipe', stderr: 'pipe' })
  if (exitCode !== 0) {
    throw new Error(`${command.slice(0, 3).join(' ')} failed with exit code ${exitCode}: ${stderr.toString().trim()}`)
  }
  return stdout.toString()
}
