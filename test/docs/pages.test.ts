/** The pages lead where they say, name settings that exist, and list every decision. */
import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { schema } from '../../src/config/schema.ts'

const root = join(import.meta.dir, '../..')
const pages = ['*.md', '{docs,examples,bench}/**/*.md', '.github/*.md']
  .flatMap((pattern) => [...new Bun.Glob(pattern).scanSync({ cwd: root, dot: true })])
  .filter((page) => !page.includes('node_modules'))
  .sort()
const textOf = (page: string) => readFileSync(join(root, page), 'utf8')

/** The anchors of a page, as forges make them from its headings. */
const anchorsOf = (page: string) =>
  [...textOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )

test('every link within the project leads to a file, and to a heading in it', () => {
  const links = pages.flatMap((page) =>
    [...textOf(page).matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].map(([, path = '', anchor]) => ({
      page,
      target: path === '' ? page : join(dirname(page), path),
      anchor,
    })),
  )
  expect(links.length).toBeGreaterThan(80)
  expect(links.filter(({ target }) => !existsSync(join(root, target)))).toEqual([])
  const lost = links.filter(({ target, anchor }) => anchor !== undefined && !anchorsOf(target).includes(anchor))
  expect(lost).toEqual([])
})

test('every setting that a page names exists', () => {
  const settings = Object.values(schema).flatMap(({ env }) => [env, `${env}_FILE`])
  // The place of the file that holds the settings; what the tests read; what the client and the examples take.
  const others = [
    'NCP_CONFIG',
    ...['NCP_AUDIT_REPORTS', 'NCP_FUZZ_SECONDS', 'NCP_FUZZ_SEED', 'NCP_TEST_KILLS'],
    ...['NCP_URL', 'NCP_KEY', 'NCP_KEY_FILE', 'NCP_FINGERPRINT'],
  ]
  const named = pages.flatMap((page) => textOf(page).match(/\bNCP_[A-Z_]*[A-Z]\b/g) ?? [])
  expect(new Set(named).size).toBeGreaterThan(30)
  expect(named.filter((name) => !settings.includes(name) && !others.includes(name))).toEqual([])
})

test('the index of decisions lists every record under its number and title, in order', () => {
  const records = [...new Bun.Glob('docs/decisions/0*.md').scanSync(root)].sort()
  expect(records.length).toBeGreaterThan(30)
  const index = textOf('docs/decisions/README.md')
  const rows = [...index.matchAll(/^\| (\d+) \| \[(.+)\]\((.+)\) \| \d{4}-\d\d-\d\d \| .+ \|$/gm)]
  expect(rows.map(([, number, title, file]) => `${file}: # ${number}. ${title}`)).toEqual(
    records.map((record) => `${record.slice('docs/decisions/'.length)}: ${textOf(record).split('\n', 1)[0]}`),
  )
})
