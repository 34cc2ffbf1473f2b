/** `/sites/:id/certificate`: an uploaded certificate in place of one that the server orders, and another try at that. */
import { Elysia } from 'elysia'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import type { AnswerOnce } from '../../../http/idempotency/answer-once.ts'
import { type Call, operation } from '../../../http/operation.ts'
import { closed } from '../../../http/schema.ts'
import { inSubscription, siteParams, toSiteRef } from '../model.ts'
import { TlsModel, toTls } from '../tls/model.ts'
import type { Certificates } from './certificates.ts'
import { UploadCertificate } from './model.ts'

const shared = {
  scope: 'certificates:write',
  keepsToSubscription: true,
  keepsToSites: true,
  tag: 'Certificates',
  params: siteParams,
  query: closed(inSubscription),
  data: TlsModel,
} as const

const operations = {
  uploadCertificate: operation('user', {
    ...shared,
    id: 'uploadCertificate',
    summary: 'Upload a certificate for a site',
    description:
      'For a wildcard, or a certificate of an authority that the server does not order from. It replaces the one that was uploaded before, and is used before one that the server has ordered. It must name the site, or one of its aliases, and no site of another customer. Three days before it expires, the server orders one in its place.',
    body: UploadCertificate,
    idempotent: true,
    status: 201,
    message: 'Certificate uploaded',
    errors: ['forbidden', 'not_found', 'conflict'],
  }),
  deleteCertificate: operation('user', {
    ...shared,
    id: 'deleteCertificate',
    summary: 'Remove the uploaded certificate of a site',
    description: 'The server orders one in its place where it can.',
    message: 'Certificate removed',
    errors: ['forbidden', 'not_found', 'conflict'],
  }),
  retryCertificate: operation('user', {
    ...shared,
    id: 'retryCertificate',
    summary: 'Try the names of a site again',
    description:
      'Names that do not lead to the server, or that the certificate authority refused, are tried again at `retry_at`. After you have corrected what `reason` says, this tries them at once: a minute after the last try at the earliest, or 15 minutes if the authority refused.',
    message: 'Names are tried again',
    errors: ['forbidden', 'not_found', 'conflict'],
  }),
}

export type CertificateRoutesOptions = { guard: Guard; certificates: Certificates; answerOnce: AnswerOnce }

export function certificateRoutes({ guard, certificates, answerOnce }: CertificateRoutesOptions) {
  async function uploadCertificate({
    caller,
    params,
    query,
    context,
    body,
  }: Call<typeof operations.uploadCertificate>) {
    const ref = toSiteRef(params, query)
    const texts = { certificate: body.certificate, privateKey: body.private_key }
    return answerOnce(
      operations.uploadCertificate,
      { caller, context, query, body },
      (conclude) => certificates.upload(caller, ref, texts, conclude),
      { toData: toTls, requireVisible: () => certificates.requireSite(caller, ref) },
    )
  }

  const deleteCertificate = async ({ caller, params, query }: Call<typeof operations.deleteCertificate>) =>
    envelope(toTls(await certificates.remove(caller, toSiteRef(params, query))), operations.deleteCertificate.message)

  const retryCertificate = async ({ caller, params, query }: Call<typeof operations.retryCertificate>) =>
    envelope(toTls(await certificates.retry(caller, toSiteRef(params, query))), operations.retryCertificate.message)

  return new Elysia({ prefix: '/sites' })
    .use(guard)
    .post('/:id/certificate', uploadCertificate, operations.uploadCertificate)
    .delete('/:id/certificate', deleteCertificate, operations.deleteCertificate)
    .post('/:id/certificate/retry', retryCertificate, operations.retryCertificate)
}
