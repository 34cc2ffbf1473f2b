/** Good archives, as the programs make them that people have: what comes out is what tar itself would make of them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmodSync, linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { pax, tar } from '../../harness/tar.ts'
import { startUnpacking, treeOf, type Unpacking } from '../../harness/unpacking.ts'

let unpacking: Unpacking
let work: string
let site: string
beforeAll(async () => {
  unpacking = await startUnpacking()
  work = mkdtempSync(join('/tmp', 'ncp-site-'))
  site = join(work, 'site')
  makeSite(site)
})
afterAll(async () => {
  rmSync(work, { recursive: true, force: true })
  await unpacking.remove()
})

/** Names and contents that each format has another way to write; modes that a release has too. */
function makeSite(directory: string): void {
  const write = (name: string, content: string | Uint8Array, mode = 0o644) => {
    writeFileSync(join(directory, name), content)
    chmodSync(join(directory, name), mode)
  }
  const long = 'a-rather-long-folder-name-'.repeat(4)
  for (const folder of [
    '',
    'public',
    'public/empty',
    'public/leer zeichen',
    `public/${long}`,
    `public/${long}/${long}`,
  ]) {
    mkdirSync(join(directory, folder))
    chmodSync(join(directory, folder), 0o755)
  }
  write('public/index.html', '<h1>hello</h1>')
  write('public/.well-known', 'dot')
  write('public/empty.txt', '')
  write('public/block.bin', new Uint8Array(512).fill(1))
  write(
    'public/blocks.bin',
    new Uint8Array(1_234_567).map((_, at) => at % 251),
  )
  write('public/zeros.bin', new Uint8Array(5000))
  write('public/leer zeichen/grüße 日本 🎉.txt', 'unicode')
  write('public/ünïcödé', 'and a file of that name')
  write(`public/${long}/${long}/${'n'.repeat(120)}.txt`, 'a long way down')
  write('run.sh', '#!/bin/sh', 0o755)
}

const madeBy = (command: readonly string[]): Uint8Array => {
  const { stdout, stderr, exitCode } = Bun.spawnSync([...command], {
    cwd: site,
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8' },
  })
  if (exitCode !== 0) throw new Error(`${command.join(' ')}: ${stderr}`)
  return stdout
}

const programs: Record<string, string[]> = {
  'GNU tar, gnu': ['tar', '--format=gnu', '-cf', '-', '.'],
  'GNU tar, pax': ['tar', '--format=pax', '-cf', '-', '.'],
  'GNU tar, oldgnu': ['tar', '--format=oldgnu', '-cf', '-', '.'],
  'GNU tar, names without ./': ['tar', '-cf', '-', 'public', 'run.sh'],
  'bsdtar, pax': ['bsdtar', '--format=pax', '-cf', '-', '.'],
  'bsdtar, restricted pax': ['bsdtar', '-cf', '-', '.'],
  'bsdtar, gnutar': ['bsdtar', '--format=gnutar', '-cf', '-', '.'],
  BusyBox: ['busybox', 'tar', '-cf', '-', '.'],
}
const lacks = (program: string) => !Bun.which(program, { PATH: '/usr/bin:/bin' })

for (const [what, command] of Object.entries(programs)) {
  test.skipIf(lacks(command[0] ?? ''))(`an archive by ${what} becomes the same as with tar -x`, async () => {
    const archive = madeBy(command)
    const expected = mkdtempSync(join(work, 'expected-'))
    const extracting = Bun.spawnSync(['tar', '-xf', '-', '-C', expected], {
      stdin: archive,
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8' },
    })
    expect(extracting.exitCode).toBe(0)
    const tree = treeOf(expected)
    expect(tree).toEqual(treeOf(site))
    for (const bytes of [archive, gzipSync(archive)]) {
      const result = await unpacking.run(bytes, { maxBytes: 1e7 })
      expect(result).toEqual({ ok: true, files: 10, bytes: expect.any(Number), publicDir: 'public' } as typeof result)
      expect(unpacking.tree()).toEqual(tree)
    }
  })
}

/** These formats have no place for long names. */
test.each(['ustar', 'v7'])('an archive by GNU tar in the format %s becomes the same as with tar -x', async (format) => {
  const archive = madeBy([
    'tar',
    `--format=${format}`,
    '-cf',
    '-',
    'public/index.html',
    'public/empty',
    'run.sh',
    'public/blocks.bin',
  ])
  expect(await unpacking.run(archive, { maxBytes: 1e7 })).toMatchObject({ ok: true, files: 3, publicDir: 'public' })
  const {
    'public/index.html': index,
    'public/empty': empty,
    'run.sh': run,
    'public/blocks.bin': blocks,
    public: folder,
  } = treeOf(site)
  expect(unpacking.tree()).toEqual({
    'public/index.html': `${index}`,
    'public/empty': `${empty}`,
    'run.sh': `${run}`,
    'public/blocks.bin': `${blocks}`,
    public: `${folder}`,
  })
})

const hello = { name: 'index.html', body: 'hello' }

test('modes come from the archive as far as a file is a program, whatever the umask is', async () => {
  const archive = tar(
    { name: 'a', mode: 0o777 },
    { name: 'b', mode: 0o600 },
    { name: 'c', mode: 0o6755 },
    { name: 'd', mode: 0o000 },
    { name: 'e', mode: 0o010 },
    { name: 'f/', type: '5', mode: 0o700 },
    { name: 'g/', type: '5', mode: 0o7777 },
    { name: 'h/i', mode: 0o644 },
  )
  for (const umask of ['000', '022', '077', '777']) {
    expect(await unpacking.run(archive, {}, ['/bin/sh', '-c', `umask ${umask} && exec "$@"`, 'sh'])).toMatchObject({
      ok: true,
      files: 6,
    })
    const modes = Object.entries(unpacking.tree()).map(([name, what]) => `${name} ${what.split(' ')[1]}`)
    expect(modes).toEqual(['a 755', 'b 644', 'c 755', 'd 644', 'e 755', 'f 755', 'g 755', 'h 755', 'h/i 644'])
  }
})

test('the public folder is one of that very name', async () => {
  expect(await unpacking.run(tar({ name: 'public/a' }))).toMatchObject({ publicDir: 'public' })
  for (const name of ['public', 'Public/a', 'site/public/a']) {
    expect(await unpacking.run(tar({ name }))).toMatchObject({ ok: true, publicDir: '' })
  }
})

test('what means nothing in a name is dropped, and a folder may come after what is in it', async () => {
  const names = [
    { name: './', type: '5' },
    { name: '././a//b/./c', body: 'c' },
    { name: 'a/b/', type: '5' },
    { name: './a', type: '5' },
  ]
  expect(await unpacking.run(tar(...names))).toEqual({ ok: true, files: 1, bytes: 1, publicDir: '' })
  expect(Object.keys(unpacking.tree())).toEqual(['a', 'a/b', 'a/b/c'])
})

test('unusual but ordinary names stay as they are', async () => {
  const names = [
    '...',
    '..a',
    'a..',
    ' ',
    '-rf',
    '~',
    '*',
    'a\\..\\b',
    'a:b',
    '%2e%2e',
    '.htaccess',
    'ﷺ',
    '\ufeffbom',
    '👩‍👩‍👧',
  ]
  expect(await unpacking.run(tar(...names.map((name) => ({ name }))))).toMatchObject({ ok: true, files: names.length })
  expect(Object.keys(unpacking.tree())).toEqual(names.toSorted())
})

test('gzip in several members is one archive', async () => {
  const archive = tar(hello, { name: 'b', body: 'x'.repeat(5000) })
  const members = Buffer.concat([gzipSync(archive.subarray(0, 700)), gzipSync(archive.subarray(700))])
  expect(await unpacking.run(members)).toEqual({ ok: true, files: 2, bytes: 5005, publicDir: '' })
})

test('zeros after the end are padding', async () => {
  expect(await unpacking.run(Buffer.concat([tar(hello), Buffer.alloc(200 * 512)]))).toMatchObject({
    ok: true,
    files: 1,
  })
})

test('an archive may come through a pipe', async () => {
  expect(await unpacking.runOn(new Blob([tar(hello)]))).toMatchObject({ ok: true, files: 1 })
})

test('a hard link to an earlier file becomes a copy, and counts', async () => {
  const source = join(work, 'linked')
  mkdirSync(source)
  writeFileSync(join(source, 'a'), 'content')
  linkSync(join(source, 'a'), join(source, 'b'))
  const archive = Bun.spawnSync(['tar', '-cf', '-', 'a', 'b'], { cwd: source }).stdout
  expect(await unpacking.run(archive)).toEqual({ ok: true, files: 2, bytes: 14, publicDir: '' })
  writeFileSync(join(unpacking.release, 'a'), 'changed')
  expect(readFileSync(join(unpacking.release, 'b'), 'utf8')).toBe('content')
})

test('symbolic links that stay inside are made as they are', async () => {
  const source = join(work, 'links')
  for (const folder of ['', 'public', 'shared']) mkdirSync(join(source, folder))
  writeFileSync(join(source, 'shared/data'), 'data')
  symlinkSync('../shared', join(source, 'public/uploads'))
  symlinkSync('uploads/data', join(source, 'public/data'))
  // Packed before what they lead to.
  const archive = Bun.spawnSync(['tar', '-cf', '-', 'public', 'shared'], { cwd: source }).stdout
  expect(await unpacking.run(archive, { links: 'inside' })).toEqual({
    ok: true,
    files: 3,
    bytes: 4,
    publicDir: 'public',
  })
  expect(unpacking.tree()).toEqual(treeOf(source))
})

test('attributes and owners in an archive mean nothing', async () => {
  const archive = tar(pax({ 'SCHILY.xattr.security.capability': 'x', uid: '4294967294', uname: 'root' }), hello)
  expect(await unpacking.run(archive)).toEqual({ ok: true, files: 1, bytes: 5, publicDir: '' })
})
