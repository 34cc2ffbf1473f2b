/** Builds the page into `page/dist`: minified files with their hash in the name, each with a .br and a .gz beside it. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, extname, join, relative } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { paths } from './paths.ts'

const source = import.meta.dir
const root = join(source, '..')
const target = join(source, 'dist')
const assets = join(target, 'assets')

const TYPES: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** What changes when the page does: its sources, and the versions of its packages. */
function digestOfSources(): string {
  const hash = new Bun.SHA256()
  const files = [...new Bun.Glob('**/*').scanSync(source)].filter((file) => !file.startsWith('dist/')).sort()
  for (const file of ['../bun.lock', ...files]) hash.update(`${file}\0`).update(readFileSync(join(source, file)))
  return hash.digest('hex')
}

/** Puts a file in place whole: another process may be building, too, or reading. */
function put(path: string, content: string | Uint8Array): void {
  const unfinished = `${path}.${process.pid}`
  writeFileSync(unfinished, content)
  renameSync(unfinished, path)
}

const brotli = (content: Uint8Array) =>
  brotliCompressSync(content, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    },
  })

async function bundle() {
  const result = await Bun.build({
    entrypoints: [join(source, 'main.tsx'), join(source, 'styles/page.css')],
    root: source,
    target: 'browser',
    format: 'esm',
    minify: true,
    splitting: true,
    metafile: true,
    naming: { entry: '[name]-[hash].[ext]', chunk: '[name]-[hash].[ext]', asset: '[name]-[hash].[ext]' },
    jsx: { runtime: 'automatic', importSource: 'preact', development: false },
    define: { 'process.env.NODE_ENV': '"production"' },
  })
  if (!result.success) throw new Error(result.logs.join('\n'))
  const files = await Promise.all(
    result.outputs.map(async (file) => ({
      name: basename(file.path),
      content: new Uint8Array(await file.arrayBuffer()),
      kind: file.kind,
    })),
  )
  const entry = files.find(({ kind }) => kind === 'entry-point')?.name ?? ''
  const stylesheet = files.find(({ name }) => name.endsWith('.css'))?.name ?? ''
  const outputs = Object.entries(result.metafile?.outputs ?? {})
  const imported = outputs.find(([path]) => basename(path) === entry)?.[1].imports ?? []
  const preloaded = imported.filter(({ kind }) => kind === 'import-statement').map(({ path }) => basename(path))
  const inputs = Object.keys(result.metafile?.inputs ?? {}).map((path) => relative(root, join(root, path)))
  return { files, entry, stylesheet, preloaded, inputs }
}

/** @returns the files of packages that went into it, by path from the repository */
export async function buildPage(): Promise<string[]> {
  const digest = digestOfSources()
  const { files, entry, stylesheet, preloaded, inputs } = await bundle()
  const icon = readFileSync(join(source, 'icon.svg'))
  const iconName = `icon-${Bun.SHA256.hash(icon, 'hex').slice(0, 8)}.svg`
  files.push({ name: iconName, content: icon, kind: 'asset' })

  const links = [
    `<link rel="icon" href="{root}assets/${iconName}" type="image/svg+xml">`,
    `<link rel="stylesheet" href="{root}assets/${stylesheet}">`,
    ...preloaded.map((name) => `<link rel="modulepreload" href="{root}assets/${name}">`),
    `<script type="module" src="{root}assets/${entry}"></script>`,
  ]
  const html = readFileSync(join(source, 'index.html'), 'utf8').replace('{links}', links.join('\n    '))

  mkdirSync(assets, { recursive: true })
  const names = files.map(({ name }) => name).sort()
  for (const { name, content } of files) {
    put(join(assets, name), content)
    put(join(assets, `${name}.br`), brotli(content))
    put(join(assets, `${name}.gz`), gzipSync(content, { level: 9 }))
  }
  put(join(target, 'files.js'), manifest(names, html, digest, [entry, ...preloaded]))
  put(join(target, 'inputs.json'), JSON.stringify(inputs.sort()))
  for (const old of readdirSync(assets)) {
    if (!names.includes(old.replace(/\.(br|gz)$/, ''))) rmSync(join(assets, old), { force: true })
  }
  return inputs
}

/** The module that the program imports: the compiler puts the files that it names into the binary. */
function manifest(names: string[], html: string, digest: string, firstLoad: string[]): string {
  const imports = names.flatMap((name, i) =>
    ['', '.br', '.gz'].map(
      (end, j) => `import f${i}_${j} from ${JSON.stringify(`./assets/${name}${end}`)} with { type: 'file' }`,
    ),
  )
  const entries = names.map((name, i) => {
    const contentType = JSON.stringify(TYPES[extname(name)])
    return `  ${JSON.stringify(name)}: { contentType: ${contentType}, plain: f${i}_0, br: f${i}_1, gzip: f${i}_2 },`
  })
  return [
    `// Written by page/build.ts from ${digest}`,
    ...imports,
    `export const html = ${JSON.stringify(html)}`,
    `export const paths = ${JSON.stringify(paths)}`,
    `export const firstLoad = ${JSON.stringify(firstLoad)}`,
    `export const files = {\n${entries.join('\n')}\n}\n`,
  ].join('\n')
}

/** Builds the page unless what is there was made from the same sources. */
export async function buildPageIfStale(): Promise<void> {
  const made = join(target, 'files.js')
  if (existsSync(made) && readFileSync(made, 'utf8').includes(digestOfSources())) return
  await buildPage()
}

if (import.meta.main) await buildPageIfStale()
