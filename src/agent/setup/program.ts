/** Runs a program of the system to its end, with nothing of our environment. */
const ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }

export type Ended = { exitCode: number; stdout: string; stderr: string }

/** @throws Error when the program is not there */
export function runProgram(...command: readonly [string, ...string[]]): Ended {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], {
    cwd: '/',
    env: ENVIRONMENT,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return { exitCode, stdout: stdout.toString(), stderr: stderr.toString().trim() }
}

/** @returns what it printed @throws Error with what it wrote to standard error, when it fails */
export function mustRun(...command: readonly [string, ...string[]]): string {
  const { exitCode, stdout, stderr } = runProgram(...command)
  if (exitCode !== 0) throw new Error(`${command.join(' ')} failed with ${exitCode}: ${stderr}`)
  return stdout
}

export const isThere = (program: string): boolean => Bun.which(program, { PATH: ENVIRONMENT.PATH }) !== null
