/** The private keys of sites' certificates: made here, readable by their maker alone, and never sent anywhere. */
import { mkdirSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Awaitable } from '../core/awaitable.ts'
import { unlessMissing } from '../core/error-code.ts'
import { writePrivateFile } from '../crypto/secret.ts'

const PRIVATE = 0o700
const KEY = /^([1-9]\d*)\.key(?:\.new)?$/

export type CertificateKeys = ReturnType<typeof createCertificateKeys>

/** @param directory holds a directory for each site that has any, named after its id */
export function createCertificateKeys(directory: string) {
  const directoryOf = (siteId: number) => join(directory, `${siteId}`)
  const pathOf = (siteId: number, id: number) => join(directoryOf(siteId), `${id}.key`)

  const read = (siteId: number, id: number): Promise<string | undefined> =>
    unlessMissing(readFile(pathOf(siteId, id), 'utf8'))

  return {
    /** @returns PEM; undefined where there is none */
    read,

    /**
     * Makes the key of a certificate, or takes the one that it has.
     *
     * @returns a request for these names, in base64 (DER)
     */
    async request(siteId: number, id: number, names: readonly string[]): Promise<string> {
      // The polyfill first: the bundler keeps the order of two imports, not that of one file's.
      await import('reflect-metadata')
      const { requestAgain, requestCertificate } = await import('../crypto/certificate-request.ts')
      const known = await read(siteId, id)
      if (known !== undefined) return base64(await requestAgain(names, known))
      const { csr, key } = await requestCertificate(names)
      mkdirSync(directoryOf(siteId), { recursive: true, mode: PRIVATE })
      writePrivateFile(pathOf(siteId, id), key)
      return base64(csr)
    },

    /** Removes all keys of a site but some. @param durable awaited before anything is removed */
    async keepOnly(siteId: number, ids: ReadonlySet<number>, durable: () => Awaitable<void>): Promise<void> {
      const names = (await unlessMissing(readdir(directoryOf(siteId)))) ?? []
      const needless = names.filter((name) => !ids.has(Number(KEY.exec(name)?.[1])))
      if (needless.length > 0) await durable()
      for (const name of needless) await rm(join(directoryOf(siteId), name), { force: true })
    },

    remove: (siteId: number) => rm(directoryOf(siteId), { recursive: true, force: true }),

    /** The sites that have any. */
    async siteIds(): Promise<number[]> {
      const names = (await unlessMissing(readdir(directory))) ?? []
      return names.filter((name) => /^[1-9]\d*$/.test(name)).map(Number)
    },
  }
}

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')
