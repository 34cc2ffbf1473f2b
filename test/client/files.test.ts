/** What goes into a deployment, and what stays out of it. */
import { afterAll, describe, expect, test } from 'bun:test'
import { closeSync, createReadStream, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createGunzip } from 'node:zlib'
import { extract } from 'tar-stream'
import { filesOf } from '../../src/client/files.ts'
import { newLines } from '../../src/client/follow.ts'
import { packFiles } from '../../src/client/pack.ts'
import { newDirectory } from '../harness/directory.ts'

const directories: string[] = []
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
})
function newPlace(): string {
  const directory = newDirectory()
  directories.push(directory)
  return directory
}

function project(files: Record<string, string>): string {
  const directory = newPlace()
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true })
    writeFileSync(join(directory, name), content, { mode: name.endsWith('.sh') ? 0o755 : 0o600 })
  }
  return directory
}
const named = (directory: string, include: string[] = []) =>
  filesOf(directory, include)
    .filter(({ kind }) => kind !== 'directory')
    .map(({ path }) => path)

const SECRETS = {
  '.git/config': '',
  '.env': '',
  '.env.production': '',
  'app/.env.local': '',
  'node_modules/left-pad/index.js': '',
  'app/node_modules/x/index.js': '',
  'tls/server.key': '',
  'tls/chain.pem': '',
  'deploy/id_ed25519': '',
  '.npmrc': '',
  '.ssh/config': '',
}

describe('the files of a project', () => {
  test('are all but secrets, what tools keep beside them, and what .ncpignore names', () => {
    const directory = project({
      ...SECRETS,
      'index.html': '',
      'assets/a.css': '',
      '.well-known/security.txt': '',
      'drafts/one.html': '',
      'drafts/keep.html': '',
      'notes.md': '',
      '.ncpignore': '# not for visitors\n*.md\ndrafts/*\n!drafts/keep.html\n',
    })
    expect(named(directory)).toEqual(['.well-known/security.txt', 'assets/a.css', 'drafts/keep.html', 'index.html'])
  })

  test('that are left out are taken when they are named, by --include or in .ncpignore', () => {
    const directory = project({ ...SECRETS, 'index.html': '', '.ncpignore': '!node_modules\n' })
    const taken = named(directory, ['.env.production', '/tls/chain.pem'])
    expect(taken).toEqual([
      '.env.production',
      'app/node_modules/x/index.js',
      'index.html',
      'node_modules/left-pad/index.js',
      'tls/chain.pem',
    ])
  })

  test('are none in an empty directory, and a socket is refused', () => {
    expect(() => filesOf(project({ '.env': '' }), [])).toThrow('has no file to deploy')
    const directory = project({ 'index.html': '' })
    const socket = Bun.listen({ unix: join(directory, 'app.sock'), socket: { data: () => undefined } })
    expect(() => filesOf(directory, [])).toThrow('is neither a file nor a link')
    socket.stop()
    expect(() => filesOf(join(directory, 'index.html'), [])).toThrow('is not a directory')
  })

  test('become an archive with their content, links and modes, and nothing is left in /tmp', async () => {
    const directory = project({ 'index.html': '<h1>Hi</h1>', 'bin/run.sh': '#!/bin/sh', 'empty/.keep': '' })
    symlinkSync('index.html', join(directory, 'home.html'))
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith('ncp-deploy-'))
    const told: number[] = []
    const { descriptor, bytes, sha256, files } = await packFiles(directory, filesOf(directory, []), (n) => told.push(n))
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith('ncp-deploy-'))).toEqual(before)
    const chunks: Buffer[] = []
    const entries: unknown[] = []
    const reader = extract()
    const stream = createReadStream('', { fd: descriptor, autoClose: false, start: 0 })
    stream.on('data', (chunk) => chunks.push(Buffer.from(chunk)))
    stream.pipe(createGunzip()).pipe(reader)
    for await (const entry of reader) {
      const { name, type, mode, linkname } = entry.header
      entries.push([name, type, type === 'file' ? mode?.toString(8) : linkname])
      entry.resume()
    }
    closeSync(descriptor)
    expect(entries).toEqual([
      ['bin', 'directory', null],
      ['bin/run.sh', 'file', '755'],
      ['empty', 'directory', null],
      ['empty/.keep', 'file', '644'],
      ['home.html', 'symlink', 'index.html'],
      ['index.html', 'file', '644'],
    ])
    const whole = Buffer.concat(chunks)
    expect([bytes, sha256, files, told.at(-1)]).toEqual([
      whole.length,
      new Bun.SHA256().update(whole).digest('hex'),
      3,
      6,
    ])
  })
})

test('a log that is followed shows each line once, also when the oldest have gone', () => {
  const lines = (...texts: string[]) => texts.map((text) => ({ time: null, text, request: null }))
  const fresh = (before: string[], now: string[]) => newLines(lines(...before), lines(...now)).map(({ text }) => text)
  expect(fresh([], ['a'])).toEqual(['a'])
  expect(fresh(['a', 'b'], ['a', 'b'])).toEqual([])
  expect(fresh(['a', 'b'], ['a', 'b', 'b'])).toEqual(['b'])
  expect(fresh(['a', 'b', 'c'], ['b', 'c', 'd'])).toEqual(['d'])
  expect(fresh(['a', 'b'], ['x', 'y'])).toEqual(['x', 'y'])
  expect(fresh(['a', 'b'], ['a'])).toEqual(['a'])
})
