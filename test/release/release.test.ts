/** What is published of a version: the same from the same commit, a package that Debian takes, all that is in it by name. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import * as CDX from '@cyclonedx/cyclonedx-library'
import manifest from '../../package.json' with { type: 'json' }
import { type Checkout, checkOut, run } from '../harness/checkout.ts'

const TIME = 1_700_000_000

setDefaultTimeout(120_000)

let workshop: string
beforeAll(() => {
  workshop = mkdtempSync(join(tmpdir(), 'ncp-release-'))
})
afterAll(() => rmSync(workshop, { recursive: true, force: true }))

const sumOf = (path: string) => Bun.SHA256.hash(readFileSync(path), 'hex')

/** Makes program, package and bill of materials as a release does, of this kind of machine alone. */
function release({ script, path }: Checkout): { program: string; deb: string; bom: string } {
  const deb = script(`
    import { writeFileSync } from 'node:fs'
    import { compile } from './release/compile.ts'
    import { buildDeb } from './release/deb.ts'
    import { billOfMaterials } from './release/sbom.ts'
    const inputs = await compile('dist/ncp')
    const options = { architecture: process.arch === 'arm64' ? 'arm64' : 'amd64', directory: 'dist', time: ${TIME} }
    writeFileSync('dist/ncp.cdx.json', billOfMaterials(inputs, ${TIME}000))
    process.stdout.write(buildDeb({ binary: 'dist/ncp', runnable: 'dist/ncp', ...options }))
  `)
  return { program: path('dist/ncp'), deb, bom: path('dist/ncp.cdx.json') }
}

// Debian's tool; anywhere else there is nothing to try the package with.
describe.skipIf(!Bun.which('dpkg-deb'))('of one commit', () => {
  let first: ReturnType<typeof release>
  beforeAll(() => {
    first = release(checkOut(join(workshop, 'first')))
  })

  test('two releases are the same, whatever the folder and the umask', () => {
    const before = process.umask(0o077)
    const second = release(checkOut(join(workshop, 'elsewhere')))
    process.umask(before)
    for (const file of ['program', 'deb', 'bom'] as const) {
      expect([file, sumOf(second[file])]).toEqual([file, sumOf(first[file])])
    }
  })

  test('the program tells its version and names no folder of the machine that made it', () => {
    expect(run([first.program, 'version'], workshop)).toBe(`${manifest.version}\n`)
    expect(readFileSync(first.program).includes(workshop)).toBe(false)
  })

  describe('the Debian package', () => {
    let tree: string
    beforeAll(() => {
      tree = join(workshop, 'tree')
      run(['dpkg-deb', '--raw-extract', first.deb, tree], workshop)
    })
    const read = (path: string) => readFileSync(join(tree, path), 'utf8')

    test('has the program, a unit that starts it, its user and a configuration that an upgrade leaves alone', () => {
      expect(run([join(tree, 'usr/bin/ncp'), 'version'], workshop)).toBe(`${manifest.version}\n`)
      expect(read('usr/lib/systemd/system/ncp.service')).toContain('\nExecStart=/usr/bin/ncp serve\n')
      expect(read('usr/lib/sysusers.d/ncp.conf')).toContain('\nu ncp ')
      expect(read('DEBIAN/conffiles')).toBe('/etc/ncp/ncp.toml\n')
      expect(read('DEBIAN/control')).toContain(`\nVersion: ${manifest.version}\n`)
      expect(gunzipSync(readFileSync(join(tree, 'usr/share/man/man1/ncp.1.gz'))).toString()).toContain('.TH NCP 1')
      expect(read('usr/share/bash-completion/completions/ncp')).toContain('complete -F _ncp ncp')
      run([join(tree, 'usr/bin/ncp'), 'config', 'validate', '--config', join(tree, 'etc/ncp/ncp.toml')], workshop)
    })

    test('is root’s, can be read by all and written by nobody else', () => {
      for (const line of run(['dpkg-deb', '--contents', first.deb], workshop).trim().split('\n')) {
        expect(line).toMatch(/^(drwxr-xr-x|-rwxr-xr-x|-rw-r--r--) root\/root /)
      }
    })

    test('has scripts that a shell understands', () => {
      for (const script of ['postinst', 'prerm', 'postrm']) run(['sh', '-n', join(tree, 'DEBIAN', script)], workshop)
    })
  })

  describe('the bill of materials', () => {
    type Component = {
      name: string
      group?: string
      version: string
      hashes?: { content: string }[]
      licenses?: object[]
    }
    const components = (): Component[] => JSON.parse(readFileSync(first.bom, 'utf8')).components
    const nameOf = ({ group, name }: Component) => (group === undefined ? name : `${group}/${name}`)

    test('is valid CycloneDX', async () => {
      const validator = new CDX.Validation.JsonStrictValidator(CDX.Spec.Version.v1dot6)
      expect(await validator.validate(readFileSync(first.bom, 'utf8'))).toBeNull()
    })

    test('names the runtime and every dependency, with version, licence and checksum', () => {
      const found = new Map(components().map((component) => [nameOf(component), component]))
      expect(found.get('bun')?.version).toBe(manifest.engines.bun)
      for (const [name, version] of Object.entries(manifest.dependencies)) {
        expect([name, found.get(name)?.version]).toEqual([name, version])
      }
      for (const component of found.values()) {
        if (component.name === 'bun') continue
        expect([nameOf(component), component.hashes?.[0]?.content]).toEqual([
          nameOf(component),
          expect.stringMatching(/^[0-9a-f]{128}$/),
        ])
        expect([nameOf(component), component.licenses?.length]).toEqual([nameOf(component), 1])
      }
    })

    test('names no tool that only builds or tests', () => {
      const tools = Object.keys(manifest.devDependencies).filter((name) => name !== 'jose')
      expect(
        components()
          .map(nameOf)
          .filter((name) => tools.includes(name)),
      ).toEqual([])
    })
  })
})
