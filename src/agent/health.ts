/** Asks a release for the health path of its site before any visitor can: by our own nginx, where only root may ask. */
import { chmodSync, chownSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { HEALTH_SECONDS, reasonOfSilence, reasonOfStatus } from '../node/health.ts'
import { whileAway } from './away.ts'
import type { NodeLayout } from './layout.ts'
import { namesIn } from './tree.ts'

export type Candidate = {
  /** The domain of its site: an application may redirect every other to it. */
  domain: string
  path: string
  /** As of a generation: what the web server and PHP are to see. */
  links: Readonly<Record<string, string>>
}

const MODE = 0o750

export type Health = ReturnType<typeof createHealth>

/** @param webGid of the web server's workers */
export function createHealth(layout: Pick<NodeLayout, 'candidates' | 'candidateSocket'>, webGid: number) {
  const directoryOf = (domain: string) => join(layout.candidates, domain)
  const remove = (domain: string) => rmSync(directoryOf(domain), { recursive: true, force: true })

  function show({ domain, links }: Candidate): void {
    remove(domain)
    const directory = directoryOf(domain)
    mkdirSync(directory)
    for (const [name, target] of Object.entries(links)) symlinkSync(target, join(directory, name))
    chownSync(directory, 0, webGid)
    chmodSync(directory, MODE)
  }

  async function ask({ domain, path }: Candidate, signal: AbortSignal): Promise<string | undefined> {
    const timeout = AbortSignal.timeout(HEALTH_SECONDS * 1000)
    try {
      // Through the socket, whatever proxy the environment names.
      const response = await fetch(`http://${domain}${path}`, {
        unix: layout.candidateSocket,
        signal: AbortSignal.any([signal, timeout]),
        redirect: 'manual',
        headers: { 'user-agent': 'ncp-health' },
      })
      await response.body?.cancel()
      return reasonOfStatus(path, response.status, response.headers.get('location'))
    } catch (error) {
      if (timeout.aborted && !signal.aborted) return reasonOfSilence(path)
      throw error
    }
  }

  return {
    /**
     * @returns why the release is not to be served; undefined where it answers
     * @throws Error where the web server does not answer, and when aborted
     */
    async check(candidate: Candidate, signal: AbortSignal): Promise<string | undefined> {
      show(candidate)
      try {
        return await whileAway(layout.candidateSocket, () => ask(candidate, signal))
      } finally {
        remove(candidate.domain)
      }
    },

    /** At the start: what an agent that was killed has left. */
    forget(): void {
      for (const name of namesIn(layout.candidates)) remove(name)
    },
  }
}
