/** Compiles the program for one kind of machine: one file with the runtime, the migrations and the pages inside. */
import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { buildPage } from '../page/build.ts'
import { addonsOf } from './addons.ts'
import type { Target } from './targets.ts'

/**
 * @param outfile where the program goes
 * @param target undefined is this machine; any other needs what `installAddons` installs
 * @returns the files that went into it, by path from the repository
 * @throws Error with what the compiler says
 */
export async function compile(outfile: string, target?: Target): Promise<string[]> {
  // Moved at the end: a process that runs or copies the last binary keeps a whole one. The file's name goes into it,
  // its folder does not: two builds of one commit are the same.
  const workshop = join(dirname(outfile), `${process.pid}`)
  const unfinished = join(workshop, 'ncp')
  mkdirSync(workshop, { recursive: true })
  const page = await buildPage()
  const result = await Bun.build({
    // All but the first run in threads of their own.
    entrypoints: ['src/main.ts', 'src/backup/worker.ts', 'src/db/sqlite/fast/disk-worker.ts'],
    // Elysia reads the source of handlers to learn what they use, and minified source misleads it.
    minify: false,
    // Half the start-up time; it needs ESM, or the build machine's path would be baked in.
    bytecode: true,
    format: 'esm',
    // What is imported only when it is needed is not read at the start, nor are the runtime's modules that it imports.
    splitting: true,
    metafile: true,
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: target ? [addonsOf(target)] : [],
    compile: {
      outfile: unfinished,
      ...(target && { target: `bun-${target}` as Bun.Build.CompileTarget }),
      // The working directory is not the program's: a `.env` or `bunfig.toml` there must change nothing.
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
    },
  })
  if (!result.success) throw new Error(result.logs.join('\n'))
  renameSync(unfinished, outfile)
  rmSync(workshop, { recursive: true })
  return [...Object.keys(result.metafile?.inputs ?? {}), ...page]
}
