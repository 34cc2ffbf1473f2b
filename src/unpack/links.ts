/** Symbolic links, made when everything else is there, so that nothing is ever written through one. */
import { realpathSync, symlinkSync } from 'node:fs'
import { codeOf } from '../core/error-code.ts'
import { type Place, Refusal } from './refusal.ts'

export type Link = { path: string; target: string; place: Place }

const OUTSIDE = 'the link leads outside the archive; remove it or make it relative'

/**
 * Before anything is made: what the text of a link tells.
 *
 * @param parts the path of the link itself
 * @throws Refusal
 */
export function requireRelative(parts: readonly string[], target: string): void {
  if (target === '' || /\p{Cc}|\p{Cs}/u.test(target)) throw new Refusal('link_refused', 'the link has no valid target')
  if (target.startsWith('/')) throw new Refusal('link_outside', OUTSIDE)
  let depth = parts.length - 1
  for (const part of target.split('/')) {
    if (part === '..') depth -= 1
    else if (part !== '' && part !== '.') depth += 1
    if (depth < 0) throw new Refusal('link_outside', OUTSIDE)
  }
}

/**
 * Makes the links in the working directory, and then follows each: what a link leads to may depend on others.
 *
 * @throws Refusal
 */
export function makeLinks(links: readonly Link[]): void {
  const root = realpathSync('.')
  for (const { path, target } of links) symlinkSync(target, path)
  for (const { path, place } of links) {
    const end = endOf(path, place)
    if (end !== root && !end.startsWith(`${root}/`)) throw new Refusal('link_outside', OUTSIDE, place)
  }
}

function endOf(path: string, place: Place): string {
  try {
    return realpathSync(path)
  } catch (error) {
    const reason =
      codeOf(error) === 'ELOOP' ? 'the link leads back to itself' : 'the link leads to nothing in the archive'
    throw new Refusal('link_broken', reason, place)
  }
}
