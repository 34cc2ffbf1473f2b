/** Answers by which a name proves that it leads here (RFC 8555 §8.3). */
import type { Reply } from '../reply.ts'

export const CHALLENGE_PREFIX = '/.well-known/acme-challenge/'

export type Challenges = ReturnType<typeof createChallenges>

/** The names of the panel itself, which are no site's. */
export const PANEL = 0

export function createChallenges() {
  /** By token. */
  const answers = new Map<string, { siteId: number; answer: string }>()

  function forget(siteId: number): void {
    for (const [token, known] of answers) if (known.siteId === siteId) answers.delete(token)
  }

  return {
    /** In place of those that the site had. */
    set(siteId: number, challenges: readonly { token: string; answer: string }[]): void {
      forget(siteId)
      for (const { token, answer } of challenges) answers.set(token, { siteId, answer })
    },

    add: (siteId: number, token: string, answer: string) => void answers.set(token, { siteId, answer }),
    remove: (token: string) => void answers.delete(token),

    /** @returns undefined for a path that is no challenge of this site: it may be a file */
    answer(siteId: number, pathname: string): Reply | undefined {
      if (!pathname.startsWith(CHALLENGE_PREFIX)) return undefined
      const found = answers.get(pathname.slice(CHALLENGE_PREFIX.length))
      if (found?.siteId !== siteId) return undefined
      const headers = { 'content-type': 'application/octet-stream', 'cache-control': 'no-store' }
      return { status: 200, headers, body: new TextEncoder().encode(found.answer) }
    },
  }
}
