/** Proves of every regular expression in the product that no text makes it slow, with recheck. */
import { join } from 'node:path'
import { type Node, parse } from 'acorn'
import { check } from 'recheck'

const source = join(import.meta.dir, '../../src')
const transpiler = new Bun.Transpiler({ loader: 'ts' })

/** What recheck doesn't call safe and no stranger can reach; docs/security/audit.md says why. */
const EXPLAINED = new Set([
  'tls/issued.ts /-----BEGIN PRIVATE KEY-----.*?-----END PRIVATE KEY-----\\n/s',
  'config/rules.ts /\\/+$/',
  'docs/openapi.ts /\\W+(\\w)/g',
  'http/body.ts /"(?:[^"\\\\]|\\\\.)*"|[{}[\\]:]/g',
])

type Found = { file: string; pattern: string; flags: string }

function* regularExpressions(file: string, node: unknown): Generator<Found> {
  if (Array.isArray(node)) {
    for (const child of node) yield* regularExpressions(file, child)
  } else if (typeof node === 'object' && node !== null) {
    const { type, regex } = node as Node & { regex?: { pattern: string; flags: string } }
    if (type === 'Literal' && regex) yield { file, ...regex }
    for (const child of Object.values(node)) yield* regularExpressions(file, child)
  }
}

let checked = 0
let explained = 0
let unsafe = 0
for (const file of [...new Bun.Glob('**/*.ts').scanSync(source)].sort()) {
  if (file.endsWith('.d.ts')) continue
  const script = transpiler.transformSync(await Bun.file(join(source, file)).text())
  const tree = parse(script, { ecmaVersion: 'latest', sourceType: 'module' })
  for (const { pattern, flags } of regularExpressions(file, tree)) {
    const result = await check(pattern, flags, { timeout: 20_000 })
    checked++
    if (result.status === 'safe') continue
    if (EXPLAINED.has(`${file} /${pattern}/${flags}`)) {
      explained++
      continue
    }
    unsafe++
    process.stdout.write(`${file}: /${pattern}/${flags} is ${result.status}`)
    process.stdout.write(result.status === 'vulnerable' ? ` (${result.complexity.summary})\n` : '\n')
  }
}
process.stdout.write(`${checked} regular expressions, ${explained} explained, ${unsafe} not proven safe\n`)
process.exit(unsafe === 0 ? 0 : 1)
