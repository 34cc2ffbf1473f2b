/** Compiles `dist/ncp`: one file with the runtime, the migrations and the docs page inside. */
import { mkdirSync, renameSync, rmSync, statSync } from 'node:fs'

const outfile = 'dist/ncp'
// Moved at the end: whoever runs or copies the last binary meanwhile keeps a whole one. The file's name goes into it.
const workshop = `dist/${process.pid}`
const unfinished = `${workshop}/ncp`

mkdirSync(workshop, { recursive: true })
const result = await Bun.build({
  // The second runs in a thread of its own.
  entrypoints: ['src/main.ts', 'src/backup/worker.ts'],
  // Elysia reads the source of handlers to learn what they use, and minified source misleads it.
  minify: false,
  // Half the start-up time; it needs ESM, or the build machine's path would be baked in.
  bytecode: true,
  format: 'esm',
  define: { 'process.env.NODE_ENV': '"production"' },
  compile: {
    outfile: unfinished,
    // The working directory is not the program's: a `.env` or `bunfig.toml` there must change nothing.
    autoloadDotenv: false,
    autoloadBunfig: false,
    autoloadTsconfig: false,
    autoloadPackageJson: false,
  },
})
if (!result.success) {
  for (const log of result.logs) process.stderr.write(`${log}\n`)
  process.exit(1)
}
renameSync(unfinished, outfile)
rmSync(workshop, { recursive: true })
process.stdout.write(`${outfile}: ${(statSync(outfile).size / 1e6).toFixed(0)} MB\n`)
