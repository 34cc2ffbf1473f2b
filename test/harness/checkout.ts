/** A copy of the sources in a folder of its own, to build another version of the program from. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { run } from '../../src/cli/run.ts'

const REPOSITORY = resolve(import.meta.dir, '../..')
/** All that a build reads. */
const SOURCES = [
  'build.ts',
  'bun.lock',
  'CHANGELOG.md',
  'deploy',
  'docs',
  'drizzle',
  'examples',
  'LICENSE',
  'package.json',
  'page',
  'release',
  'src',
  'tsconfig.json',
]

export type Checkout = ReturnType<typeof checkOut>

export function checkOut(directory: string) {
  mkdirSync(directory, { recursive: true })
  for (const source of SOURCES) cpSync(join(REPOSITORY, source), join(directory, source), { recursive: true })
  // By links, or as copies where the folder is on another file system.
  const modules = [join(REPOSITORY, 'node_modules'), directory]
  run(['sh', '-c', 'cp -al "$@" 2>/dev/null || cp -a "$@"', 'sh', ...modules])

  return {
    directory,
    path: (...names: string[]) => join(directory, ...names),

    /** @throws Error when the file doesn't hold the text: the test would change nothing */
    replace(path: string, text: string, replacement: string): void {
      const file = join(directory, path)
      const before = readFileSync(file, 'utf8')
      if (!before.includes(text)) throw new Error(`${path} does not hold: ${text}`)
      writeFileSync(
        file,
        before.replace(text, () => replacement),
      )
    },

    write: (path: string, text: string) => writeFileSync(join(directory, path), text),

    /** Runs a script with the folder as its working directory. @returns what it printed */
    script: (source: string) => run([process.execPath, '-e', source], { cwd: directory }),

    /** @returns the path of the program */
    build(): string {
      run([process.execPath, 'build.ts'], { cwd: directory })
      return join(directory, 'dist/ncp')
    },
  }
}
