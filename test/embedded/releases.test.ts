/** Releases: what is known of a site when its archive has been unpacked counts, not what was known before. */
import { expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSiteFiles } from '../../src/embedded/site-files.ts'
import type { DesiredSite, NodeLink, ReleaseReport } from '../../src/node/protocol.ts'
import { createReleases } from '../../src/node/releases.ts'
import { unpack } from '../../src/unpack/run.ts'
import { newDirectory } from '../harness/directory.ts'
import { noLog } from '../harness/log.ts'
import { archiveOf } from '../harness/site-archives.ts'

const LIMITS = { maxBytes: 1_000_000, maxFiles: 100, maxSeconds: 60 }

test('a public directory that is changed while an archive is unpacked is the one that it must have', async () => {
  const root = newDirectory()
  const archives = join(root, 'archives')
  const files = createSiteFiles({
    sites: join(root, 'sites'),
    archives,
    trash: join(root, 'trash'),
    logs: join(root, 'logs'),
  })
  const archive = archiveOf({ 'dist/index.html': 'x' })
  mkdirSync(archives)
  writeFileSync(join(archives, '5'), archive)
  const reported = Promise.withResolvers<ReleaseReport | undefined>()
  const [begun, changed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const releases = createReleases({
    files,
    link: { report: async (report) => reported.resolve(report.releases[0]) } as NodeLink,
    durable: () => undefined,
    log: noLog,
    unpack: async (archive, release, _, signal) => {
      begun.resolve()
      await changed.promise
      return unpack({ archive, release, limits: LIMITS, links: 'refuse', signal })
    },
  })
  const siteWith = (publicDir: string): DesiredSite => ({
    id: 1,
    generation: 1,
    state: 'serving',
    names: ['a.test'],
    kind: 'static',
    phpVersion: null,
    spa: false,
    publicDir,
    release: null,
    toUnpack: [
      {
        deploymentId: 5,
        number: 1,
        sha256: Bun.SHA256.hash(archive, 'hex'),
        archiveBytes: archive.length,
        publicDir,
      },
    ],
    kept: [],
  })
  releases.want(1, siteWith('web'))
  await begun.promise
  releases.want(1, siteWith('dist'))
  changed.resolve()
  expect(await reported.promise).toMatchObject({ deploymentId: 5, state: 'ready', files: 1 })
  await releases.stop()
})
