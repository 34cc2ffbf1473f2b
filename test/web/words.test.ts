/** The words of the page: both languages have all of them, and no view has a text of its own. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { german } from '../../page/words/de.ts'
import { english } from '../../page/words/en.ts'

const page = join(import.meta.dir, '../../page')

/** The texts by their path; a function is told by what it makes of one and of several. */
function textsIn(words: object, path = ''): [string, string][] {
  return Object.entries(words).flatMap(([name, value]): [string, string][] => {
    const here = `${path}${name}`
    if (typeof value === 'string') return [[here, value]]
    if (typeof value === 'function')
      return [1, 2].map((count) => [`${here}(${count})`, `${value(count, count, count)}`])
    return Array.isArray(value) ? [] : textsIn(value, `${here}.`)
  })
}

/** What is the same word in both. */
const SAME = [
  'deployments.number',
  'kindFields.php',
  'kindFields.spa',
  'keys.name',
  'logs.kinds.php',
  'shell.menu',
  'sites.domain',
  'sites.kinds.php',
  'subscriptions.name',
  'users.invitedHint',
  'users.link',
  'users.name',
  'users.roles.admin',
  'users.twoFactor',
]

test('both languages have the same texts, and none was left in the other language', () => {
  const [en, de] = [textsIn(english), new Map(textsIn(german))]
  expect([...de.keys()]).toEqual(en.map(([path]) => path))
  const left = en.filter(([path, text]) => de.get(path) === text && !SAME.includes(path.replace(/\(\d\)$/, '')))
  expect(left.filter(([, text]) => /\p{L}{3}/u.test(text))).toEqual([])
})

test('every text is used', () => {
  const sources = [...new Bun.Glob('**/*.{ts,tsx}').scanSync(page)]
    .filter((file) => !/^(dist|words)\//.test(file))
    .map((file) => readFileSync(join(page, file), 'utf8'))
    .join('\n')
  const names = new Set(textsIn(english).map(([path]) => path.replace(/\(\d\)$/, '')))
  const isUsed = (path: string) => {
    const parts = path.split('.')
    const isNamed = new RegExp(`\\.${parts.at(-1)}\\b`).test(sources)
    // Or looked up in the table that it is in.
    return (
      isNamed || parts.slice(0, -1).some((table) => new RegExp(`\\b${table}\\[|\\.${table}\\b(?!\\.)`).test(sources))
    )
  }
  expect([...names].filter((path) => !isUsed(path))).toEqual([])
})

test('no view has a text that is in no table', () => {
  const views = [...new Bun.Glob('**/*.tsx').scanSync(page)].sort()
  expect(views.length).toBeGreaterThan(40)
  const literal =
    />[^<>{}=;()]*\p{L}{2}[^<>{}=;()]*<\/|\b(?:title|label|aria-label|placeholder|alt|hint)="[^"]*\p{L}[^"]*"/gu
  const found = views.flatMap((file) => {
    const source = readFileSync(join(page, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
    return [...source.matchAll(literal)].map(([text]) => `${file}: ${text.replaceAll(/\s+/g, ' ').trim()}`)
  })
  expect(found).toEqual([
    'parts/brand.tsx: > ncp </',
    'sites/kind-fields.tsx: placeholder="public"',
    'sites/new-site.tsx: placeholder="www.example.com"',
  ])
})
