/** Answers to challenges of certificate authorities: a file each, which our own nginx serves under every name. */
import { chmodSync, chownSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ChallengeAnswers } from '../../node/site-certificates.ts'
import type { NodeLayout } from '../layout.ts'
import { namesIn } from '../tree.ts'

const MODE = 0o640

/** What an agent before this one has left is removed: the panel still wants it, or it is of no use. */
export function createChallengeFiles(layout: NodeLayout, webGid: number): ChallengeAnswers {
  const tokens = new Map<number, string[]>()
  const pathOf = (token: string) => join(layout.challenges, token)
  for (const name of namesIn(layout.challenges)) rmSync(pathOf(name), { recursive: true, force: true })

  function place(siteId: number, token: string, answer: string): void {
    // Whole or not at all, and not where a visitor could ask for it.
    const made = join(layout.staging, `challenge-${siteId}`)
    writeFileSync(made, answer)
    chownSync(made, 0, webGid)
    chmodSync(made, MODE)
    renameSync(made, pathOf(token))
  }

  return {
    set(siteId, challenges) {
      const wanted = challenges.map(({ token }) => token)
      for (const token of tokens.get(siteId) ?? []) if (!wanted.includes(token)) rmSync(pathOf(token), { force: true })
      for (const { token, answer } of challenges) place(siteId, token, answer)
      if (wanted.length > 0) tokens.set(siteId, wanted)
      else tokens.delete(siteId)
    },
  }
}
