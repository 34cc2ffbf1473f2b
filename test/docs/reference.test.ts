/** The pages for operators: those made from the source say what the source says. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pages } from '../../docs/reference.ts'

const root = join(import.meta.dir, '../..')

test.each(Object.entries(pages))('%s matches what the source generates', (path, text) => {
  if (readFileSync(join(root, path), 'utf8') !== text()) throw new Error(`${path} is stale: run bun docs/reference.ts`)
  expect(text().length).toBeGreaterThan(500)
})
