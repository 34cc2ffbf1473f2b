/** Builds `dist/ncp` when it is older than what goes into it: before all tests, or before the first that runs it. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'

const REPOSITORY = resolve(import.meta.dir, '../..')
export const BINARY = join(REPOSITORY, 'dist/ncp')
const SOURCES = ['src', 'page', 'deploy', 'drizzle', 'examples/site', 'release', 'package.json', 'bun.lock', 'build.ts']

/** @throws Error with what the build says */
export async function buildWhenStale(): Promise<void> {
  if (existsSync(BINARY) && statSync(BINARY).mtimeMs > newestSource()) return
  const build = Bun.spawn([process.execPath, 'build.ts'], { cwd: REPOSITORY, stdout: 'pipe', stderr: 'pipe' })
  const [stderr, exitCode] = await Promise.all([new Response(build.stderr).text(), build.exited])
  if (exitCode !== 0) throw new Error(`bun build.ts failed with exit code ${exitCode}: ${stderr}`)
}

function newestSource(): number {
  const times = SOURCES.flatMap((name) => {
    const path = join(REPOSITORY, name)
    const below = statSync(path).isDirectory() ? readdirSync(path, { recursive: true, encoding: 'utf8' }) : []
    return [path, ...below.map((entry) => join(path, entry))].map((entry) => statSync(entry).mtimeMs)
  })
  return Math.max(...times)
}

if (import.meta.main) await buildWhenStale()
