/** Asks the web server again while it is being started. */
import { existsSync } from 'node:fs'
import { codeOf } from '../core/error-code.ts'

const ATTEMPTS = 20
const PAUSE_MS = 250
const REFUSED = new Set(['ConnectionRefused', 'FailedToOpenSocket', 'ECONNREFUSED', 'ENOENT'])

/**
 * @param socket on which it is asked
 * @throws what `ask` throws, once the web server is there or after five seconds
 */
export async function whileAway<Answer>(socket: string, ask: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask()
    } catch (error) {
      const isAway = !existsSync(socket) || REFUSED.has(codeOf(error) ?? '')
      if (!isAway || attempt === ATTEMPTS) throw error
      await Bun.sleep(PAUSE_MS)
    }
  }
}
