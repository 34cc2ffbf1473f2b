/** The tables of docs/security say what is so: every requirement is there, and every proof that is named exists. */
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileExists, notPassed, problemOf, readRows, TABLES } from './proof.ts'

test('every requirement of ASVS 5.0 that applies has one row, with its level', () => {
  const required = readFileSync(join(import.meta.dir, 'asvs-ids.txt'), 'utf8')
    .trim()
    .split('\n')
  expect(required.length).toBeGreaterThan(150)
  expect(readRows('docs/security/asvs.md').map(({ id, label }) => `${id} ${label}`)).toEqual(required)
})

test('every failure of other projects has one row', () => {
  const rows = readRows('docs/security/failures.md')
  expect(rows.map(({ id }) => id)).toEqual(Array.from({ length: 113 }, (_, i) => `${i + 1}`))
})

describe.each(TABLES)('in %s', (table) => {
  test('each row names a proof, or says that it is not met', () => {
    const bare = readRows(table).filter(({ tests, files, isUnmet }) => tests.length + files.length === 0 && !isUnmet)
    expect(bare.map(({ id }) => id)).toEqual([])
  })

  test('each named test is in its file, and each other proof exists', () => {
    const rows = readRows(table)
    const wrong = rows.flatMap(({ id, tests }) =>
      tests.flatMap((name) => {
        const problem = problemOf(name)
        return problem === undefined ? [] : [`${id} ${name.written}: ${problem}`]
      }),
    )
    expect(wrong).toEqual([])
    expect(rows.flatMap(({ files }) => files).filter((file) => !fileExists(file))).toEqual([])
  })
})

describe('a report of a run', () => {
  const name = (titles: string[]) => ({ written: titles.join(' > '), file: 'test/a.test.ts', titles })
  const report = `
    <testcase name="with &quot;x&quot; is refused" classname="a claim" file="test/a.test.ts" line="1" />
    <testcase name="is skipped" file="test/a.test.ts"><skipped /></testcase>
    <testcase name="is elsewhere" file="test/b.test.ts" />
    <testcase name="fails" file="test/a.test.ts">
      <failure type="AssertionError" /></testcase>`.replaceAll(/>\s+</g, '><')

  test('proves what has passed, and not what was skipped, failed or did not run', () => {
    expect(notPassed([name(['a claim', 'with %j is refused'])], report)).toEqual([])
    const others = ['is skipped', 'is elsewhere', 'fails', 'is refused'].map((title) => name([title]))
    expect(notPassed(others, report)).toEqual(['is skipped', 'is elsewhere', 'fails', 'is refused'])
  })
})
