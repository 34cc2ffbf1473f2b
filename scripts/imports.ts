/** Which file imports which, and the layer and the room of each file: what the architecture test and `rooms` go by. */
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

export const root = join(import.meta.dir, '..')

/** The TypeScript files under a folder of the project, in order. */
export const filesIn = (folder: string): string[] =>
  [...new Bun.Glob(`${folder}/**/*.ts`).scanSync(root)].filter((file) => !file.endsWith('.d.ts')).sort()

export const sourceOf = (file: string): string => readFileSync(join(root, file), 'utf8')

/** From the ground up: a file imports from its own layer and from those below. */
export const layers = ['core', 'technical', 'service', 'http', 'routes', 'module', 'app', 'cli', 'main'] as const
export type Layer = (typeof layers)[number]

const technical = new Set(
  'agent backup client config crypto data-directory.ts db jobs limiter log mail metrics node settings site-logs system threads.ts unpack'.split(
    ' ',
  ),
)

/** @throws Error if the file is in no layer */
export function layerOf(file: string): Layer {
  const [, folder = '', feature] = file.split('/')
  if (folder === 'core') return 'core'
  if (technical.has(folder)) return 'technical'
  if (folder === 'platform.ts' || folder === 'module.ts' || /^src\/features\/.*\/module\.ts$/.test(file))
    return 'module'
  if (folder === 'features') return /\/([a-z-]+-)?routes\.ts$|\/model\.ts$/.test(file) ? 'routes' : 'service'
  if (['http', 'tls', 'embedded'].includes(folder)) return 'http'
  if (['docs', 'web'].includes(folder)) return 'routes'
  if (['app.ts', 'panel.ts', 'lifecycle'].includes(folder)) return 'app'
  if (folder === 'cli') return 'cli'
  if (folder === 'main.ts' && feature === undefined) return 'main'
  throw new Error(`${file} is in no layer: name one in scripts/imports.ts`)
}

const IMPORT = /^(?:im|ex)port (type )?[^'"]*from '(\.[^']+)'|(?:^import |\bimport\()'(\.[^']+)'/gm

export type Import = { from: string; to: string; typeOnly: boolean }

/** The imports between the files of a folder, also those that only hand a name on, and those made when they are needed. */
export const importsIn = (folder: string): Import[] =>
  filesIn(folder).flatMap((file) =>
    [...sourceOf(file).matchAll(IMPORT)].flatMap(([, type, named, other]) => {
      const to = relative(root, join(root, dirname(file), named ?? other ?? ''))
      const isOurs = to.startsWith(`${folder}/`) && to.endsWith('.ts')
      return isOurs ? [{ from: file, to, typeOnly: type !== undefined }] : []
    }),
  )

/** From the ground up: a room imports from those before it, types too. A feature stands after those that it needs. */
export const rooms = [
  'core',
  'data-directory.ts',
  'threads.ts',
  'system',
  'log',
  'crypto',
  'limiter',
  'metrics',
  'db',
  'jobs',
  'node',
  'site-logs',
  'mail',
  'config',
  'settings',
  'backup',
  'unpack',
  'client',
  'agent',
  'http',
  'docs',
  'web',
  'tls',
  'embedded',
  'module.ts',
  'platform.ts',
  'operation/audit',
  'account/credentials',
  'operation/settings',
  'operation/nodes',
  'account',
  'account/proof',
  'account/session',
  'account/users',
  'account/password',
  'account/email',
  'account/two-factor',
  'hosting/subscriptions',
  'hosting',
  'hosting/tls',
  'account/api-keys',
  'account/administration',
  'account/me',
  'hosting/ssh-keys',
  'hosting/logs',
  'hosting/usage',
  'hosting/events',
  'hosting/sites',
  'hosting/environment',
  'hosting/deployments',
  'hosting/certificates',
  'hosting/node-api',
  'hosting/embedded',
  'operation/health',
  'panel.ts',
  'lifecycle',
  'app.ts',
  'cli',
  'main.ts',
]

/** Whether an import runs against the layers, or against the rooms. */
export const runsUp = ({ from, to }: Import): boolean =>
  layers.indexOf(layerOf(to)) > layers.indexOf(layerOf(from)) || floorOf(to) > floorOf(from)

/** @throws Error if the file is in no room */
function floorOf(file: string): number {
  const floor = rooms.indexOf(roomOf(file))
  if (floor === -1) throw new Error(`${file} is in no room: name one in scripts/imports.ts`)
  return floor
}

/** The room of a file: its folder under `src`, or its feature. A file that lies beside the rooms is one by itself. */
export function roomOf(file: string): string {
  const [, folder = '', ...rest] = file.split('/')
  if (folder !== 'features') return folder
  return rest.length > 2 ? rest.slice(0, 2).join('/') : (rest[0] ?? folder)
}

type Edge = { from: string; to: string }

/** What each name imports, directly or through others. */
export function reachAmong(edges: readonly Edge[]): Map<string, Set<string>> {
  const next = Map.groupBy(edges, ({ from }) => from)
  const reachOf = (start: string) => {
    const seen = new Set<string>()
    const toVisit = [start]
    for (let at = toVisit.pop(); at !== undefined; at = toVisit.pop()) {
      for (const { to } of next.get(at) ?? []) {
        if (seen.has(to)) continue
        seen.add(to)
        toVisit.push(to)
      }
    }
    return seen
  }
  return new Map([...next.keys()].map((name) => [name, reachOf(name)]))
}

/** The groups that import themselves, directly or through others. */
export function circlesAmong(edges: readonly Edge[]): string[][] {
  const reach = reachAmong(edges)
  const inCircle = [...reach.keys()].filter((name) => reach.get(name)?.has(name))
  const circleOf = (name: string) =>
    inCircle.filter((other) => reach.get(name)?.has(other) && reach.get(other)?.has(name))
  return [...new Map(inCircle.map((name) => [circleOf(name).sort().join(' '), circleOf(name).sort()])).values()]
}
