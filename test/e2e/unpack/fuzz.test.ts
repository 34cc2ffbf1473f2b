/** Whatever an archive says: nothing outside of the release changes, and what is in it is what the archive has. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { pax, type RawEntry, tar } from '../../harness/tar.ts'
import { startUnpacking, type Unpacking } from '../../harness/unpacking.ts'

let unpacking: Unpacking
beforeAll(async () => {
  unpacking = await startUnpacking()
})
afterAll(() => unpacking.remove())

/** Few and short, so that entries meet, and links lead somewhere. */
const part = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('a', 'b', 'c', 'A') },
  { weight: 2, arbitrary: fc.constantFrom('..', '.', '', 'release', 'beside') },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 5 }) },
)
const path = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'))
const bytes = fc.uint8Array({ minLength: 1, maxLength: 12 }).map((array) => Buffer.from(array))

const entry: fc.Arbitrary<RawEntry[]> = fc.oneof(
  { weight: 5, arbitrary: path.map((name) => [{ name, body: name }]) },
  { weight: 2, arbitrary: path.map((name) => [{ name, type: '5' }]) },
  { weight: 3, arbitrary: fc.tuple(path, path).map(([name, target]) => [{ name, type: '2', target }]) },
  { weight: 2, arbitrary: fc.tuple(path, path).map(([name, target]) => [{ name, type: '1', target }]) },
  { weight: 1, arbitrary: path.map((name) => [pax({ path: name }), { name: 'short' }]) },
  { weight: 1, arbitrary: bytes.map((name) => [{ name }]) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(path, fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 1 }))
      .map(([name, type]) => [{ name, type }]),
  },
)

test('every path that is made is inside of the release, and every link too', async () => {
  let unpacked = 0
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { minLength: 1, maxLength: 6 }), async (entries) => {
      // Which also looks at what is outside.
      const result = await unpacking.run(tar(...entries.flat()), { links: 'inside' })
      if (!result.ok) return
      unpacked += 1
      const root = realpathSync(unpacking.release)
      const tree = unpacking.tree()
      for (const [name, what] of Object.entries(tree)) {
        const found = realpathSync(join(root, name))
        expect(found === root || found.startsWith(`${root}/`)).toBeTrue()
        expect(what).toMatch(/^(directory 755|file 644 \d+|link .+)$/)
      }
      expect(Object.values(tree).filter((what) => !what.startsWith('directory'))).toHaveLength(result.files)
    }),
    { numRuns: 150 },
  )
  expect(unpacked).toBeGreaterThan(10)
})

test('an archive with any of its bytes changed is refused or unpacked, and does nothing else', async () => {
  const archive = tar(
    { name: 'a/', type: '5' },
    { name: 'a/b', body: 'x'.repeat(600) },
    pax({ path: 'a/c' }),
    { name: 'c', body: 'y' },
    { name: 'l', type: '2', target: 'a/b' },
    { name: 'h', type: '1', target: 'a/b' },
  )
  const change = fc.tuple(fc.nat(archive.length - 1), fc.integer({ min: 0, max: 255 }))
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
      const changed = Buffer.from(archive)
      for (const [at, byte] of changes) changed.writeUInt8(byte, at)
      const result = await unpacking.run(changed, { links: 'inside' })
      if (!result.ok) expect(result.code).not.toBe('unpack_failed')
    }),
    { numRuns: 100 },
  )
})
