/** Certificates as our own nginx finds them: a directory each with chain and key in one file, to which names lead. */
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import type { LoadedCertificate } from '../../node/site-certificates.ts'
import type { NodeLayout } from '../layout.ts'
import { linkTarget, namesIn } from '../tree.ts'

const MODE = 0o750
const FILE_MODE = 0o640
const FILE = 'pem'
/** Where names lead: `../certs/7.31`. */
const PREFIX = '../certs/'

export type CertificateFiles = ReturnType<typeof createCertificateFiles>

export function createCertificateFiles(layout: NodeLayout, webGid: number) {
  const byName = join(layout.certificates, 'by-name')
  const certs = join(layout.certificates, 'certs')
  /** By site, the names that lead to one of its certificates, as on disk. */
  const names = new Map<number, Set<string>>()
  for (const name of namesIn(byName)) {
    const siteId = siteOfTarget(linkTarget(join(byName, name)))
    if (siteId !== undefined) names.set(siteId, (names.get(siteId) ?? new Set()).add(name))
  }

  /** With a key in it: never changed, since an id has one certificate. */
  function ensure(siteId: number, { id, cert, key }: LoadedCertificate): string {
    const name = `${siteId}.${id}`
    const content = `${cert.trimEnd()}\n${key.trimEnd()}\n`
    if (isRight(join(certs, name, FILE), content, webGid)) return name
    const made = join(layout.staging, `certificate-${siteId}`)
    rmSync(made, { recursive: true, force: true })
    mkdirSync(made, { mode: 0o700 })
    writeFileSync(join(made, FILE), content, { mode: 0o600 })
    for (const [path, mode] of [
      [join(made, FILE), FILE_MODE],
      [made, MODE],
    ] as const) {
      chownSync(path, 0, webGid)
      chmodSync(path, mode)
    }
    rmSync(join(certs, name), { recursive: true, force: true })
    renameSync(made, join(certs, name))
    return name
  }

  /** By one rename: a visitor gets the one certificate or the other. */
  function lead(siteId: number, name: string, certificate: string): void {
    const target = `${PREFIX}${certificate}`
    if (linkTarget(join(byName, name)) === target) return
    const made = join(layout.staging, `tls-${siteId}`)
    rmSync(made, { force: true })
    symlinkSync(target, made)
    renameSync(made, join(byName, name))
  }

  return {
    /** @throws Error for a certificate or key that cannot be used; then the site keeps what it had */
    async show(siteId: number, certificates: readonly LoadedCertificate[]): Promise<void> {
      for (const { cert, key } of certificates) createSecureContext({ cert, key })
      const wanted = new Set(certificates.flatMap((certificate) => certificate.names))
      const used = new Set<string>()
      for (const certificate of certificates) {
        const directory = ensure(siteId, certificate)
        used.add(directory)
        for (const name of certificate.names) lead(siteId, name, directory)
      }
      for (const name of names.get(siteId) ?? []) {
        // Another site may have the name by now.
        const isOurs = siteOfTarget(linkTarget(join(byName, name))) === siteId
        if (!wanted.has(name) && isOurs) rmSync(join(byName, name))
      }
      if (wanted.size > 0) names.set(siteId, wanted)
      else names.delete(siteId)
      for (const directory of namesIn(certs)) {
        if (siteOfTarget(`${PREFIX}${directory}`) === siteId && !used.has(directory)) {
          rmSync(join(certs, directory), { recursive: true })
        }
      }
    },
  }
}

function isRight(path: string, content: string, webGid: number): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false })
  const hasAccess = found?.isFile() && found.uid === 0 && found.gid === webGid && found.mode % 0o10000 === FILE_MODE
  return hasAccess === true && readFileSync(path, 'utf8') === content
}

function siteOfTarget(target: string | undefined): number | undefined {
  const [, siteId] = /^\.\.\/certs\/([1-9]\d*)\.[1-9]\d*$/.exec(target ?? '') ?? []
  return siteId === undefined ? undefined : Number(siteId)
}
