/** The panel's account at an authority, which is its key: made at the first order. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { type CryptoKey, exportPKCS8, generateKeyPair, importPKCS8 } from 'jose'
import { writePrivateFile } from '../../crypto/secret.ts'

/** @param path of the key, in PEM */
export async function accountKey(path: string): Promise<CryptoKey> {
  if (!existsSync(path)) {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true })
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writePrivateFile(path, await exportPKCS8(privateKey))
  }
  return importPKCS8(readFileSync(path, 'utf8'), 'ES256', { extractable: true })
}
