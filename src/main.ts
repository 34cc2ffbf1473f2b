/** Where the program begins. */

const args = process.argv.slice(2)
// The child process of each deployment is there in half the time when it loads nothing of the panel.
const { run } = args[0] === 'unpack' ? await import('./cli/unpack.ts') : await import('./cli/program.ts')
// Not `process.exit`: `serve` goes on after its command has returned.
process.exitCode = await run(args)
