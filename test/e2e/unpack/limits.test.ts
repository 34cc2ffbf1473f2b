/** How much an archive may become, and how long it may take: what goes beyond is stopped while it is written. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createGzip } from 'node:zlib'
import { END, pax, rawEntry, tar } from '../../harness/tar.ts'
import { startUnpacking, type Unpacking } from '../../harness/unpacking.ts'

let unpacking: Unpacking
beforeAll(async () => {
  unpacking = await startUnpacking()
})
afterAll(() => unpacking.remove())

const MEGABYTE = 1_000_000

/** gzip of what is never whole in memory. */
async function gzipped(parts: Iterable<Uint8Array>): Promise<Buffer> {
  const gzip = createGzip()
  const feeding = async () => {
    for (const part of parts) if (!gzip.write(part)) await new Promise((resolve) => gzip.once('drain', resolve))
    gzip.end()
  }
  const chunks: Uint8Array[] = []
  const fed = feeding()
  for await (const chunk of gzip) chunks.push(chunk)
  await fed
  return Buffer.concat(chunks)
}

function* zeros(megabytes: number) {
  for (let done = 0; done < megabytes; done++) yield Buffer.alloc(MEGABYTE)
}

test('files may have exactly as many bytes as are allowed', async () => {
  const archive = tar({ name: 'a', body: 'x'.repeat(600) }, { name: 'b', body: 'x'.repeat(400) })
  expect(await unpacking.run(archive, { maxBytes: 1000 })).toEqual({ ok: true, files: 2, bytes: 1000, publicDir: '' })
  expect(await unpacking.run(archive, { maxBytes: 999 })).toEqual({
    ok: false,
    code: 'too_many_bytes',
    entry: 'b',
    line: 2,
    message: 'entry 2, b: unpacked, the archive has more than the 999 bytes that are allowed',
  })
})

test('the copy that a hard link becomes counts', async () => {
  const link = (name: string) => ({ name, type: '1', target: 'a' })
  const archive = tar({ name: 'a', body: 'x'.repeat(600) }, ...['b', 'c', 'd'].map(link))
  expect(await unpacking.run(archive, { maxBytes: 1800 })).toMatchObject({
    ok: false,
    code: 'too_many_bytes',
    entry: 'd',
  })
  expect(await unpacking.run(archive, { maxFiles: 3 })).toMatchObject({ ok: false, code: 'too_many_files', entry: 'd' })
})

test('files, links and folders count, those too that have no entry', async () => {
  const archive = tar({ name: 'a/b/c' }, { name: 'd/', type: '5' }, { name: 'e', type: '2', target: 'a' })
  expect(await unpacking.run(archive, { links: 'inside', maxFiles: 5 })).toMatchObject({ ok: true, files: 2 })
  expect(await unpacking.run(archive, { links: 'inside', maxFiles: 4 })).toMatchObject({
    ok: false,
    code: 'too_many_files',
  })
  expect(await unpacking.run(tar({ name: 'a/b/c/d/e' }), { maxFiles: 3 })).toMatchObject({
    ok: false,
    code: 'too_many_files',
  })
  expect(Object.keys(unpacking.tree())).toEqual(['a', 'a/b', 'a/b/c'])
})

test('a bomb stops at the limit', async () => {
  const bomb = await gzipped([rawEntry({ name: 'bomb', size: 300 * MEGABYTE }), ...zeros(300), END])
  expect(bomb.length).toBeLessThan(400_000)
  expect(await unpacking.run(bomb, { maxBytes: 5 * MEGABYTE })).toMatchObject({
    ok: false,
    code: 'too_many_bytes',
    entry: 'bomb',
  })
  const { size } = statSync(join(unpacking.release, 'bomb'))
  expect(size).toBeGreaterThan(0)
  expect(size).toBeLessThanOrEqual(5 * MEGABYTE)
})

test('a bomb that becomes no file stops too', async () => {
  const padding = await gzipped([rawEntry({ name: 'a' }), END, ...zeros(300)])
  const headers = await gzipped([
    ...Array.from({ length: 100 }, () => rawEntry(pax({ comment: 'x'.repeat(3 * MEGABYTE) }))),
    rawEntry({ name: 'a' }),
    END,
  ])
  for (const bomb of [padding, headers]) {
    expect(await unpacking.run(bomb, { maxBytes: 5 * MEGABYTE })).toMatchObject({ ok: false, code: 'too_many_bytes' })
  }
})

test('a million entries stop at the number of files', async () => {
  const thousand = (from: number) =>
    Buffer.concat(Array.from({ length: 1000 }, (_, next) => rawEntry({ name: `${from + next}` })))
  function* entries() {
    for (const from of [0, 1000]) yield thousand(from)
    const rest = thousand(2000)
    for (let at = 2000; at < 1_000_000; at += 1000) yield rest
    yield END
  }
  const archive = await gzipped(entries())
  expect(await unpacking.run(archive, { maxFiles: 2000 })).toEqual({
    ok: false,
    code: 'too_many_files',
    entry: '2000',
    line: 2001,
    message: 'entry 2001, 2000: the archive has more than the 2000 files and folders that are allowed',
  })
  expect(readdirSync(unpacking.release)).toHaveLength(2000)
})

test('a million entries for folders that are there already end too', async () => {
  function* entries() {
    const block = Buffer.concat(Array.from({ length: 1000 }, () => rawEntry({ name: './', type: '5' })))
    for (let at = 0; at < 1000; at++) yield block
    yield END
  }
  const archive = await gzipped(entries())
  expect(await unpacking.run(archive, { maxFiles: 10 })).toMatchObject({ ok: false, code: 'too_many_bytes' })
})

test('a stream that stops in the middle ends at the time', async () => {
  const part = tar({ name: 'a', body: 'x'.repeat(5000) }).subarray(0, 3000)
  // Its other end stays open.
  const stalled = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(part) })
  expect(await unpacking.runOn(stalled, { maxSeconds: 1 })).toEqual({
    ok: false,
    code: 'too_slow',
    entry: 'a',
    line: 1,
    message: 'entry 1, a: unpacking takes longer than the 1 seconds that are allowed',
  })
})

test('a file that is larger than the system lets it be is named', async () => {
  const archive = tar({ name: 'a', body: 'x'.repeat(100_000) })
  const wrapper = ['/bin/bash', '-c', 'ulimit -f 50; trap "" XFSZ; exec "$@"', 'bash']
  expect(await unpacking.run(archive, {}, wrapper)).toMatchObject({
    ok: false,
    code: 'unpack_failed',
    entry: 'a',
    line: 1,
  })
})

test.skipIf(process.getuid?.() !== 0)('a full disk is told as one', async () => {
  const archive = tar({ name: 'a', body: 'x'.repeat(50_000) }, { name: 'b', body: 'x'.repeat(500_000) })
  // A file system of its own, in a mount namespace that goes with the process.
  const script = 'mount -t tmpfs -o size=200k none . && cd "$PWD" && exec "$@"'
  const wrapper = ['/usr/bin/unshare', '--mount', '/bin/sh', '-c', script, 'sh']
  expect(await unpacking.run(archive, {}, wrapper)).toEqual({
    ok: false,
    code: 'disk_full',
    entry: 'b',
    line: 2,
    message: 'entry 2, b: there is no room left on the disk',
  })
})

test('a large archive takes no more memory than a small one', async () => {
  const small = await gzipped([
    rawEntry({ name: 'a', size: 10 * MEGABYTE }),
    ...zeros(10),
    Buffer.alloc((-10 * MEGABYTE) & 511),
    END,
  ])
  const large = await gzipped([
    rawEntry({ name: 'a', size: 300 * MEGABYTE }),
    ...zeros(300),
    Buffer.alloc((-300 * MEGABYTE) & 511),
    END,
  ])
  const peakOf = async (archive: Buffer) => {
    expect(await unpacking.run(archive, { maxBytes: 400 * MEGABYTE })).toMatchObject({ ok: true, files: 1 })
    return unpacking.peakBytes()
  }
  const peak = await peakOf(small)
  expect(peak).toBeGreaterThan(10 * MEGABYTE)
  expect(await peakOf(large)).toBeLessThan(2 * peak)
})
