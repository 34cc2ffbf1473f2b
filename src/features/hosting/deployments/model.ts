/** The schemas of `/sites/:id/deployments`. */
import { t } from 'elysia'
import { AppError } from '../../../core/errors.ts'
import { formatTimestamp } from '../../../core/timestamp.ts'
import { choice, closed, idOut, integerOut, integerText, nullable, text, timestampOut } from '../../../http/schema.ts'
import type { ReleaseFailure } from '../../../node/protocol.ts'
import { inSubscription } from '../model.ts'
import type { NewDeployment } from './deployments.ts'
import type { Deployment } from './find-deployment.ts'

const STATUSES = ['unpacking', 'ready', 'active', 'superseded', 'failed'] as const

export const deploymentParams = closed({
  id: integerText({ description: 'Site id' }),
  deployment_id: integerText({ description: 'Deployment id' }),
})
export const newDeploymentQuery = {
  ...inSubscription,
  activate: t.Optional(
    choice(['true', 'false'], 'False leaves the deployment `ready`, and serves what was served before'),
  ),
  message: t.Optional(
    text({
      minLength: 1,
      maxLength: 500,
      examples: ['Christmas opening hours'],
      description: 'For people',
      rule: 'must be 1 to 500 characters, without control characters but line breaks',
      obeys: (value) => value.isWellFormed() && !/(?![\n\t])\p{Cc}/u.test(value),
    }),
  ),
  commit: t.Optional(
    text({
      minLength: 1,
      maxLength: 64,
      examples: ['36c7d1b'],
      description: 'Of the version control system, in hex',
      rule: 'must be 1 to 64 hexadecimal digits',
      obeys: (value) => /^[0-9a-f]+$/i.test(value),
    }),
  ),
}

export const DeploymentModel = t.Object(
  {
    id: idOut(),
    number: integerOut({ minimum: 1, examples: [31], description: 'Counts the deployments of the site' }),
    site_id: idOut(),
    status: choice(
      STATUSES,
      '`unpacking`: waits for its node, or is being unpacked. `ready`: can be served. `active`: is served. `superseded`: was served',
    ),
    sha256: t.String({ examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'] }),
    archive_bytes: integerOut({ minimum: 1, examples: [20_480], description: 'Of the archive, as uploaded' }),
    bytes: nullable(integerOut({ minimum: 0, examples: [65_536], description: 'Of the files; null until unpacked' })),
    files: nullable(integerOut({ minimum: 0, examples: [12] })),
    message: nullable(t.String({ examples: ['Christmas opening hours'] })),
    commit: nullable(t.String({ examples: ['36c7d1b'] })),
    created_by: nullable(integerOut({ minimum: 1, examples: [2], description: 'The user who uploaded it' })),
    created_at: timestampOut(),
    activated_at: nullable(timestampOut()),
    failure: nullable(
      t.Object(
        {
          code: t.String({ examples: ['link_outside'] }),
          entry: nullable(t.String({ examples: ['assets/logo.svg'], description: 'The entry of the archive' })),
          line: nullable(integerOut({ minimum: 1, examples: [312], description: 'The number of the entry' })),
          message: t.String({ examples: ['entry 312, assets/logo.svg: the link leads outside the archive'] }),
        },
        { additionalProperties: false, description: 'Why the status is `failed`' },
      ),
    ),
  },
  { additionalProperties: false, title: 'Deployment' },
)

export function toDeployment(deployment: Deployment) {
  const { failure, activatedAt } = deployment
  return {
    id: deployment.id,
    number: deployment.number,
    site_id: deployment.siteId,
    status: deployment.status,
    sha256: deployment.sha256,
    archive_bytes: deployment.archiveBytes,
    bytes: deployment.bytes,
    files: deployment.files,
    message: deployment.message,
    commit: deployment.commit,
    created_by: deployment.createdBy,
    created_at: formatTimestamp(deployment.createdAt),
    activated_at: activatedAt === null ? null : formatTimestamp(activatedAt),
    failure: failure === null ? null : toFailure(JSON.parse(failure)),
  }
}

const toFailure = ({ code, entry = null, line = null, message }: ReleaseFailure) => ({ code, entry, line, message })

type NewDeploymentQuery = { activate?: 'true' | 'false'; message?: string; commit?: string }

export function toNewDeployment({ activate, message, commit }: NewDeploymentQuery): NewDeployment {
  return { activates: activate !== 'false', message: message ?? null, commit: commit?.toLowerCase() ?? null }
}

/** @returns the header X-Content-SHA256, in lower case. @throws AppError `validation_error` */
export function readDigest(headers: Headers): string | undefined {
  const digest = headers.get('x-content-sha256')?.toLowerCase()
  if (digest === undefined || /^[0-9a-f]{64}$/.test(digest)) return digest
  throw new AppError('validation_error', 'X-Content-SHA256: must be 64 hexadecimal digits')
}
