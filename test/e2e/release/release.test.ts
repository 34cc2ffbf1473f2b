/** What is published of a version: the same from the same commit, for each kind of machine, and all that is in it by name. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as CDX from '@cyclonedx/cyclonedx-library'
import manifest from '../../../package.json' with { type: 'json' }
import { run } from '../../../src/cli/run.ts'
import { checkOut } from '../../harness/checkout.ts'

/** Of the commit, in seconds since the epoch. */
const TIME = 1_700_000_000
/** What ELF calls the machine, and what its native code asks the loader for. */
const MACHINES = {
  'linux-x64': { machine: 62, libc: 'libc.so.6', addon: '@node-rs/argon2-linux-x64-gnu' },
  'linux-arm64': { machine: 183, libc: 'libc.so.6', addon: '@node-rs/argon2-linux-arm64-gnu' },
  'linux-x64-musl': { machine: 62, libc: 'libc.so', addon: '@node-rs/argon2-linux-x64-musl' },
  'linux-arm64-musl': { machine: 183, libc: 'libc.so', addon: '@node-rs/argon2-linux-arm64-musl' },
}

// Five programs, twice: some twenty seconds on two idle cores, minutes on busy ones or where a runtime has to be downloaded.
setDefaultTimeout(900_000)

let workshop: string
beforeAll(() => {
  workshop = mkdtempSync(join(tmpdir(), 'ncp-release-'))
})
afterAll(() => rmSync(workshop, { recursive: true, force: true }))

/** Makes a release from a copy of the sources. @returns the folder with its files */
function release(name: string): string {
  const { directory, path } = checkOut(join(workshop, name))
  const author = ['-c', 'user.name=Somebody', '-c', 'user.email=somebody@example.test']
  const commit = ['git', ...author, 'commit', '--quiet', '--allow-empty', '--message=A release']
  run(['git', 'init', '--quiet'], { cwd: directory })
  run(['env', `GIT_COMMITTER_DATE=${TIME} +0000`, ...commit], { cwd: directory })
  run([process.execPath, 'release/release.ts'], { cwd: directory })
  return path('dist/release')
}

// A release has packages, and these are the tools that make them.
describe.skipIf(!Bun.which('dpkg-deb') || !Bun.which('rpmbuild'))('of one commit', () => {
  let first: string
  beforeAll(() => {
    first = release('first')
  })
  const programOf = (target: string) => join(first, `ncp-${manifest.version}-${target}`)

  test('two releases are identical, whatever the folder and the umask', () => {
    const before = process.umask(0o077)
    const second = release('elsewhere')
    process.umask(before)
    expect(readFileSync(join(second, 'SHA256SUMS'), 'utf8')).toBe(readFileSync(join(first, 'SHA256SUMS'), 'utf8'))
  })

  test('the checksums cover all the other files', () => {
    expect(run(['sha256sum', '--check', 'SHA256SUMS'], { cwd: first }).trim().split('\n').sort()).toEqual(
      readdirSync(first)
        .filter((name) => name !== 'SHA256SUMS')
        .map((name) => `${name}: OK`)
        .sort(),
    )
  })

  test('the program reports its version and names no folder of the build machine', () => {
    expect(run([join(workshop, 'first/dist/ncp'), 'version'], { cwd: workshop })).toBe(`${manifest.version}\n`)
    for (const target of Object.keys(MACHINES)) expect(readFileSync(programOf(target)).includes(workshop)).toBe(false)
  })

  test.each(Object.entries(MACHINES))(
    'the program for %s contains native code for that machine only',
    (target, one) => {
      expect(librariesIn(readFileSync(programOf(target)))).toEqual([{ machine: one.machine, libc: one.libc }])
    },
  )

  // An emulator of processors that this machine doesn't have.
  describe.skipIf(!Bun.which('qemu-aarch64-static'))('hashes passwords with that code', () => {
    test.each([
      ['on arm64', 'linux-arm64', ['qemu-aarch64-static', '-L', '/usr/aarch64-linux-gnu']],
      ['on a processor without AVX', 'linux-x64', ['qemu-x86_64-static', '-cpu', 'Nehalem']],
    ])('%s', (_, target, emulator) => {
      const data = join(workshop, `data-${target}`)
      const password = join(workshop, 'password')
      writeFileSync(password, 'horse battery staple\n')
      const create = ['user', 'create', '--email', 'ada@example.test', '--password-stdin', '--data', data]
      // Also where the tests run without that code.
      const script = 'NCP_DISABLE_WORKAROUNDS= exec "$@" < password'
      run(['sh', '-c', script, 'sh', ...emulator, programOf(target), ...create], { cwd: workshop })
      using database = new Database(join(data, 'ncp.db'), { readonly: true })
      const user = database.query<{ hash: string }, []>('SELECT password_hash AS hash FROM users').get()
      // Its salts have 16 bytes, those of the runtime's own implementation 32.
      expect(user?.hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[^$]{22}\$/)
    })
  })

  describe('the bill of materials', () => {
    type Component = {
      type: string
      name: string
      group?: string
      version: string
      hashes?: { content: string }[]
      licenses?: object[]
    }
    type Document = { components: Component[]; dependencies: { ref: string; dependsOn?: string[] }[] }
    const text = () => readFileSync(join(first, 'ncp.cdx.json'), 'utf8')
    const document = (): Document => JSON.parse(text())
    const libraries = () => document().components.filter(({ type }) => type === 'library')
    const nameOf = ({ group, name }: Component) => (group === undefined ? name : `${group}/${name}`)

    test('is valid CycloneDX', async () => {
      const validator = new CDX.Validation.JsonStrictValidator(CDX.Spec.Version.v1dot6)
      expect(await validator.validate(text())).toBeNull()
    })

    test('names the runtime and every dependency, with version, licence and checksum', () => {
      const found = new Map(document().components.map((component) => [nameOf(component), component]))
      expect(found.get('bun')?.version).toBe(manifest.engines.bun)
      for (const [name, version] of Object.entries(manifest.dependencies)) {
        expect([name, found.get(name)?.version]).toEqual([name, version])
      }
      for (const library of libraries()) {
        expect([nameOf(library), library.hashes?.[0]?.content]).toEqual([
          nameOf(library),
          expect.stringMatching(/^[0-9a-f]{128}$/),
        ])
        expect([nameOf(library), library.licenses?.length]).toEqual([nameOf(library), 1])
      }
    })

    test('lists every program, with its checksum and the native code in it', () => {
      const { components, dependencies } = document()
      for (const [target, { addon }] of Object.entries(MACHINES)) {
        const program = components.find(({ name }) => name === `ncp-${manifest.version}-${target}`)
        expect(program?.hashes?.[0]?.content).toBe(Bun.SHA256.hash(readFileSync(programOf(target)), 'hex'))
        const parts = dependencies.find(({ ref }) => ref === program?.name)?.dependsOn ?? []
        expect(parts).toContain(`bun@${manifest.engines.bun}`)
        expect(parts.filter((ref) => ref.startsWith('@node-rs/'))).toEqual([
          `${addon}@${manifest.dependencies['@node-rs/argon2']}`,
          `@node-rs/argon2@${manifest.dependencies['@node-rs/argon2']}`,
        ])
      }
    })

    test('names no tool that only builds or tests', () => {
      const tools = Object.keys(manifest.devDependencies).filter((name) => name !== 'jose')
      expect(
        libraries()
          .map(nameOf)
          .filter((name) => tools.includes(name)),
      ).toEqual([])
    })
  })
})

/** The shared libraries of 64-bit Linux among the bytes of a program: what machine and what C library they are made for. */
function librariesIn(program: Buffer): { machine: number; libc: string }[] {
  const SHARED = 3
  const found = []
  const next = (from: number) => program.indexOf('\x7fELF\x02\x01\x01', from, 'latin1')
  // The first is the program itself.
  for (let start = next(1); start > 0; start = next(start + 1)) {
    if (program.readUInt16LE(start + 16) !== SHARED) continue
    const machine = program.readUInt16LE(start + 18)
    // The table of sections is the end of a file.
    const sections = Number(program.readBigUInt64LE(start + 40))
    const end = sections + program.readUInt16LE(start + 58) * program.readUInt16LE(start + 60)
    const library = program.subarray(start, start + end)
    for (const libc of ['libc.so.6', 'libc.so']) if (library.includes(`\0${libc}\0`)) found.push({ machine, libc })
  }
  return found
}
