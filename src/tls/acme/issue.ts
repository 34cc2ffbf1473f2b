/** Gets a certificate from an authority for the configured names. */

import { requestCertificate } from '../../crypto/certificate-request.ts'
import { accountKey } from './account.ts'
import { publishInWebroot, publishOnPort } from './challenge.ts'
import { orderCertificate, type PublishChallenge } from './client.ts'

export type IssueOptions = {
  names: readonly string[]
  directoryUrl: string
  email: string | undefined
  /** Where the authority asks for the proof: a web server's files, else a port of our own. */
  webroot: string | undefined
  port: number
  /** In place of both, where something else answers on that port. */
  publish?: PublishChallenge | undefined
  /** Of the account's key, which is made at the first order. */
  accountKeyPath: string
}

/**
 * @returns chain and private key, PEM
 * @throws Error in the authority's words, or when it cannot be reached
 */
export async function issueCertificate(options: IssueOptions): Promise<{ cert: string; key: string }> {
  const { names, directoryUrl, email, webroot, port, accountKeyPath } = options
  const privateKey = await accountKey(accountKeyPath)
  const publish = options.publish ?? (webroot === undefined ? publishOnPort(port) : publishInWebroot(webroot))
  const { csr, key } = await requestCertificate(names)
  const cert = await orderCertificate({ directoryUrl, account: { privateKey, email }, publish }, names, csr)
  return { cert, key }
}
