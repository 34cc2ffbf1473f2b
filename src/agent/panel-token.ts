/** Keeps the token of this node, and replaces it from time to time. */
import type { Clock } from '../core/clock.ts'
import type { Log } from '../log/log.ts'
import type { PanelClient } from './panel-client.ts'
import { type NodeToken, readTokenFile, writeTokenFile } from './token-file.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** One that a person has seen is replaced at once. */
const ROTATE_AFTER_MS = 30 * DAY_MS
/** After an attempt that failed. */
const RETRY_MS = 60 * 60 * 1000

export type PanelTokenOptions = { path: string; client: PanelClient; clock: Clock; log: Log }

export type PanelToken = ReturnType<typeof createPanelToken>

/** @throws Error for a file that holds no token, or that others can read */
export function createPanelToken({ path, client, clock, log }: PanelTokenOptions) {
  let current: NodeToken = readTokenFile(path)
  let isStored = true
  let notBefore = 0

  function isDue(): boolean {
    const now = clock.now()
    if (now < notBefore) return false
    // One from the future was received before the clock was set back.
    return current.since === undefined || now - current.since >= ROTATE_AFTER_MS
  }

  function store(): void {
    writeTokenFile(path, current)
    isStored = true
  }

  return {
    get: (): string => current.token,

    /**
     * Replaces the token if it is due. An answer that is lost does no harm: the old token works for another hour, and asks
     * again.
     */
    async rotateIfDue(signal: AbortSignal): Promise<void> {
      try {
        // The panel knows the new one already.
        if (!isStored) store()
        if (!isDue()) return
        notBefore = clock.now() + RETRY_MS
        // Where nothing can be written, a new token would be lost with this process.
        store()
        const answer = await client.ask({ method: 'POST', path: '/token', token: current.token, signal })
        current = { token: tokenIn(answer), since: clock.now() }
        isStored = false
        store()
        log.info({}, 'the token of this node was replaced')
      } catch (err) {
        if (!signal.aborted) log.warn({ err }, 'the token of this node could not be replaced; the old one is used')
      }
    },
  }
}

/** @throws Error for an answer without one */
function tokenIn(answer: unknown): string {
  const { token } = answer as { token?: unknown }
  if (typeof token === 'string' && /^ncpn_[0-9a-f]{64}$/.test(token)) return token
  throw new Error('the panel has sent no token')
}
