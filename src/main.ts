/** Where the program begins. */

const args = process.argv.slice(2)

/** Whatever loads nothing of the panel: the child process of each deployment is there in half the time, and the agent is root. */
function load() {
  if (args[0] === 'unpack') return import('./cli/unpack.ts')
  if (args[0] === 'agent' && args.length === 1) return import('./cli/agent-process.ts')
  return import('./cli/program.ts')
}

const { run } = await load()
// Not `process.exit`: `serve` goes on after its command has returned.
process.exitCode = await run(args)
