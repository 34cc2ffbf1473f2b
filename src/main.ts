/** Where the program begins. */
import { run } from './cli/program.ts'

// Not `process.exit`: `serve` goes on after its command has returned.
process.exitCode = await run(process.argv.slice(2))
