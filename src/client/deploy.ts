/** Deploys an archive and goes back to an earlier one; both wait until the site is served. */
import { createReadStream } from 'node:fs'
import { Transform } from 'node:stream'
import { pause } from '../core/pause.ts'
import { ClientFailure } from './failures.ts'
import type { PackedArchive } from './pack.ts'
import type { Panel } from './panel.ts'
import type { Site } from './sites.ts'

export type Deployment = {
  id: number
  number: number
  status: 'unpacking' | 'ready' | 'active' | 'superseded' | 'failed'
  failure: { message: string } | null
}

export type DeployOptions = {
  archive: PackedArchive
  message: string | undefined
  commit: string | undefined
  /** Sent again with the same one, an archive is deployed once. */
  idempotencyKey: string
  tell(sentBytes: number): void
}

const ATTEMPTS = 3
const RETRY_MS = 2000

/** Again after a failure of the network or a panel that is busy. @throws ClientFailure `refused`, `unreachable` */
export async function upload(panel: Panel, site: Site, options: DeployOptions): Promise<Deployment> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await uploadOnce(panel, site, options)
    } catch (error) {
      if (attempt === ATTEMPTS || !isUnreachable(error)) throw error
      await pause(RETRY_MS, new AbortController().signal)
    }
  }
}

const isUnreachable = (error: unknown) => error instanceof ClientFailure && error.kind === 'unreachable'

async function uploadOnce(panel: Panel, site: Site, options: DeployOptions): Promise<Deployment> {
  const { archive, message, commit, idempotencyKey, tell } = options
  const query = new URLSearchParams({ ...(message && { message }), ...(commit && { commit }) })
  let sent = 0
  const counted = new Transform({
    transform(chunk: Buffer, _, done) {
      sent += chunk.length
      tell(sent)
      done(null, chunk)
    },
  })
  // From its beginning, each time.
  const file = createReadStream('', { fd: archive.descriptor, autoClose: false, start: 0, end: archive.bytes - 1 })
  const { data } = await panel.ask<Deployment>(`/sites/${site.id}/deployments?${query}`, {
    method: 'POST',
    headers: { 'idempotency-key': idempotencyKey },
    upload: { stream: file.pipe(counted), bytes: archive.bytes, sha256: archive.sha256 },
  })
  return data
}

/** Starts serving the deployment before the active one. @throws ClientFailure `refused` where there is none */
export async function rollBack(panel: Panel, site: Site, to: number | undefined): Promise<Deployment> {
  const { data: kept } = await panel.ask<Deployment[]>(`/sites/${site.id}/deployments?limit=1000`)
  const active = kept.find(({ status }) => status === 'active')
  const wanted =
    to === undefined
      ? kept.find(({ status, number }) => status === 'superseded' && number < (active?.number ?? Number.MAX_VALUE))
      : kept.find(({ number }) => number === to)
  if (!wanted) {
    const what = to === undefined ? 'no earlier deployment' : `no deployment ${to}`
    throw new ClientFailure('refused', `${site.domain} has ${what} to go back to`)
  }
  const path = `/sites/${site.id}/deployments/${wanted.id}/activate`
  return (await panel.ask<Deployment>(path, { method: 'POST' })).data
}

/**
 * Waits until a deployment is served.
 *
 * @param tell its status, each time that the panel answers
 * @throws ClientFailure `failed` with the reason, `unfinished` after `timeoutMs`
 */
export async function untilServed(
  panel: Panel,
  site: Site,
  { id, number }: Deployment,
  { timeoutMs, tell }: { timeoutMs: number; tell(status: Deployment['status']): void },
): Promise<void> {
  const end = performance.now() + timeoutMs
  for (;;) {
    // The panel holds the answer back until there is news, for ten seconds at most.
    const seconds = Math.max(1, Math.min(10, Math.ceil((end - performance.now()) / 1000)))
    const path = `/sites/${site.id}/deployments/${id}?wait=observed&timeout=${seconds}`
    const asked = panel.ask<Deployment>(path)
    // A panel that is restarted is there again in a moment.
    const answer = await asked.catch((error: unknown) => {
      if (!isUnreachable(error) || performance.now() + RETRY_MS >= end) throw error
    })
    if (!answer) {
      await pause(RETRY_MS, new AbortController().signal)
      continue
    }
    const { status, failure } = answer.data
    if (status === 'active') return
    tell(status)
    if (status === 'failed') throw new ClientFailure('failed', failure?.message ?? 'the deployment failed')
    if (performance.now() >= end) {
      throw new ClientFailure('unfinished', `deployment ${number} of ${site.domain} is still ${status}`)
    }
  }
}
