/** Runs the tools that a release is made with. */

/**
 * @param cwd where it runs
 * @returns what it printed
 * @throws Error with what it complained of
 */
export function run([command, ...args]: [string, ...string[]], cwd = '.'): Buffer {
  const { exitCode, stdout, stderr } = Bun.spawnSync([command, ...args], { cwd, stdout: 'pipe', stderr: 'pipe' })
  if (exitCode !== 0) throw new Error(`${command} failed with exit code ${exitCode}: ${stderr}`)
  return stdout
}
