/** The bill of materials in CycloneDX: every package that is in a program, and the runtime that carries it. */
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import * as CDX from '@cyclonedx/cyclonedx-library'
import lock from '../bun.lock'
import manifest from '../package.json' with { type: 'json' }

type PackageManifest = { name: string; version: string; description?: string; license?: string }

export type Program = {
  path: string
  /** The files that went into it, by path from the repository. */
  inputs: readonly string[]
}

/**
 * Tells of every program what is in it: they differ in their native code.
 *
 * @param time milliseconds since the epoch, of the commit: the same commit gives the same document
 * @returns CycloneDX 1.6 in JSON
 */
export function billOfMaterials(programs: readonly Program[], time: number): string {
  const product = new CDX.Models.Component(CDX.Enums.ComponentType.Application, manifest.name, {
    bomRef: `${manifest.name}@${manifest.version}`,
    version: manifest.version,
    description: manifest.description,
    licenses: new CDX.Models.LicenseRepository([new CDX.Models.SpdxLicense(manifest.license)]),
  })
  const bom = new CDX.Models.Bom({
    metadata: new CDX.Models.Metadata({ component: product, timestamp: new Date(time) }),
  })
  const bun = runtime()
  const packages = new Map<string, CDX.Models.Component>()
  for (const { path, inputs } of programs) {
    const program = executable(path)
    const parts = packagesOf(inputs).map((folder) => packages.getOrInsertComputed(folder, component))
    for (const part of [bun, ...parts]) program.dependencies.add(part.bomRef)
    for (const part of [program, bun, ...parts]) bom.components.add(part)
    product.dependencies.add(program.bomRef)
  }
  const normalizer = new CDX.Serialize.JSON.Normalize.Factory(CDX.Spec.Spec1dot6)
  return new CDX.Serialize.JsonSerializer(normalizer).serialize(bom, { sortLists: true, space: 2 })
}

function executable(path: string): CDX.Models.Component {
  return new CDX.Models.Component(CDX.Enums.ComponentType.File, basename(path), {
    bomRef: basename(path),
    version: manifest.version,
    hashes: new CDX.Models.HashDictionary([
      [CDX.Enums.HashAlgorithm['SHA-256'], Bun.SHA256.hash(readFileSync(path), 'hex')],
    ]),
  })
}

function runtime(): CDX.Models.Component {
  const { bun: version } = manifest.engines
  return new CDX.Models.Component(CDX.Enums.ComponentType.Platform, 'bun', {
    bomRef: `bun@${version}`,
    version,
    description: 'JavaScript runtime, with SQLite and BoringSSL inside',
    purl: `pkg:npm/bun@${version}`,
    licenses: new CDX.Models.LicenseRepository([new CDX.Models.SpdxLicense('MIT')]),
  })
}

/** The folders of packages, sorted: `node_modules/a`, `node_modules/@b/c`, `node_modules/a/node_modules/d`. */
function packagesOf(inputs: readonly string[]): string[] {
  const folders = inputs.flatMap(
    (path) => /^(?:\.\/)?((?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [],
  )
  return [...new Set(folders)].sort()
}

function component(folder: string): CDX.Models.Component {
  const { name, version, description, license }: PackageManifest = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  )
  const [, group, plainName = name] = /^(@[^/]+)\/(.+)$/.exec(name) ?? []
  return new CDX.Models.Component(CDX.Enums.ComponentType.Library, plainName, {
    bomRef: `${name}@${version}`,
    version,
    ...(group !== undefined && { group }),
    ...(description !== undefined && { description }),
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    hashes: new CDX.Models.HashDictionary([[CDX.Enums.HashAlgorithm['SHA-512'], integrityOf(name, version)]]),
    licenses: new CDX.Models.LicenseRepository(license === undefined ? [] : [licenseOf(license)]),
  })
}

function licenseOf(license: string): CDX.Models.License {
  return CDX.SPDX.isSupportedSpdxId(license)
    ? new CDX.Models.SpdxLicense(license)
    : new CDX.Models.LicenseExpression(license)
}

/** SHA-512 of the package as it came from the registry, in hex. @throws Error for one that the lock file doesn't know */
function integrityOf(name: string, version: string): string {
  const locked = Object.values(lock.packages).find(([id]) => id === `${name}@${version}`)
  const integrity = locked?.findLast((part) => typeof part === 'string' && part.startsWith('sha512-'))
  if (typeof integrity !== 'string') throw new Error(`bun.lock knows no ${name}@${version}`)
  return Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex')
}
