/** Prepares a test node with the set-up of the product: run inside of it, with `look`, `apply` or `undo`. */
import { nodeLayout } from '../../src/agent/layout.ts'
import { stepsOf } from '../../src/agent/setup/setup.ts'
import { applyAll, type Finding, undoAll } from '../../src/agent/setup/step.ts'
import type { NodeMachine } from './node-machine.ts'

export type SetupResult = { exitCode: number; findings: Finding[]; left: string[]; stderr: string }

/** @returns findings that are not `done`, before anything was changed */
export async function setUp(
  machine: NodeMachine,
  what: 'look' | 'apply' | 'undo',
  ...options: '--take-ports'[]
): Promise<SetupResult> {
  const command = ['bun', '/opt/ncp/test/harness/node-setup.ts', what, ...options]
  const { exitCode, stdout, stderr } = await machine.run(command)
  const { findings = [], left = [] } = stdout === '' ? {} : (JSON.parse(stdout) as Partial<SetupResult>)
  return { exitCode, findings: findings.filter(({ state }) => state !== 'done'), left, stderr }
}

if (import.meta.main) {
  const [what, option] = process.argv.slice(2)
  const steps = stepsOf({ layout: nodeLayout(), program: '/usr/bin/ncp', takesPorts: option === '--take-ports' })
  const result =
    what === 'look'
      ? { findings: steps.flatMap((step) => step.look()) }
      : what === 'apply'
        ? { findings: applyAll(steps) }
        : { left: undoAll(steps) }
  process.stdout.write(JSON.stringify(result))
}
