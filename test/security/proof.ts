/** Reads the tables of docs/security: which row names which proof. */
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const repository = resolve(import.meta.dir, '../..')
export const TABLES = ['docs/security/asvs.md', 'docs/security/failures.md', 'docs/security/isolation.md']

export type Row = {
  id: string
  /** The second column: the level of a requirement, the source of a failure. */
  label: string
  /** Says in words that it is not, or only partly, so. */
  isUnmet: boolean
  tests: TestName[]
  /** Documents, tools and measurements, by their path. */
  files: string[]
}

/** As it is written in a table: `security/jwt.test.ts: a claim > %s is refused`. */
export type TestName = { written: string; file: string; titles: string[] }

export function readRows(table: string): Row[] {
  const text = readFileSync(join(repository, table), 'utf8')
  return text
    .split('\n')
    .filter((line) => /^\| [\dV]/.test(line))
    .map((line) => {
      const cells = line.split(' | ').map((cell) => cell.replaceAll(/^\| | \|$/g, ''))
      const proof = cells.at(-1) ?? ''
      const named = [...proof.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text)
      return {
        id: cells[0] ?? '',
        label: cells[1] ?? '',
        isUnmet: cells.some((cell) => /^\*\*(Not met|Partly)\*\*/.test(cell)),
        tests: named.filter((text) => /\.test\.ts: /.test(text)).map(parseTestName),
        files: named.filter((text) => !/\.test\.ts: /.test(text)).map((text) => text.split(' ')[0] ?? ''),
      }
    })
}

function parseTestName(written: string): TestName {
  const [, file = '', names = ''] = /^(\S+): (.+)$/.exec(written) ?? []
  return { written, file: `test/${file}`, titles: names.split(' > ') }
}

/** @returns what is wrong with the name of a test, as far as its file shows */
export function problemOf({ file, titles }: TestName): string | undefined {
  if (!existsSync(join(repository, file))) return 'no such file'
  const source = readFileSync(join(repository, file), 'utf8').replaceAll(/\\(['"`])/g, '$1')
  const missing = titles.filter(
    (title) => !["'", '"', '`'].some((quote) => source.includes(`${quote}${title}${quote}`)),
  )
  return missing.length > 0 ? `no title ${missing.join(' > ')}` : undefined
}

export const fileExists = (path: string) => existsSync(join(repository, path))

/** @returns the tests that a JUnit report of the whole suite does not show as passed */
export function notPassed(tests: TestName[], report: string): string[] {
  const cases = [...report.matchAll(/<testcase ([^>]*?)(\/?)>(<(skipped|failure))?/gs)].map(
    ([, attributes = '', , , outcome]) => ({
      file: attributeOf(attributes, 'file'),
      title: attributeOf(attributes, 'name'),
      isPassed: outcome === undefined,
    }),
  )
  return tests
    .filter(({ file, titles }) => {
      const pattern = patternOf(titles.at(-1) ?? '')
      const ran = cases.filter((one) => one.file === file && pattern.test(one.title))
      return ran.length === 0 || ran.some(({ isPassed }) => !isPassed)
    })
    .map(({ written }) => written)
}

function attributeOf(attributes: string, name: string): string {
  const value = new RegExp(` ?\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? ''
  const entities: Record<string, string> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' }
  return value
    .replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)))
    .replaceAll(/&(lt|gt|quot|apos|amp);/g, (_, entity: string) => entities[entity] ?? '')
}

/** A title with the places of `test.each` in it, as a pattern of the titles that come of it. */
function patternOf(title: string): RegExp {
  const parts = title.split(/%[sdifjop#]|\$\w+/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 's')
}
