/** Compiles `dist/ncp` for this machine. */
import { statSync } from 'node:fs'
import { compile } from './release/compile.ts'

const outfile = 'dist/ncp'
await compile(outfile)
process.stdout.write(`${outfile}: ${(statSync(outfile).size / 1e6).toFixed(0)} MB\n`)
