/** Which panel this node belongs to: a file of root's, so that the agent needs no options. */
import { lstatSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { codeOf } from '../core/error-code.ts'
import type { NodeLayout } from './layout.ts'
import type { PanelAddress } from './panel-client.ts'

const OTHERS = 0o077

/** @throws Error that says what to do */
export function readEnrolment({ enrolment: path }: Pick<NodeLayout, 'enrolment'>): PanelAddress {
  let text: string
  try {
    if (((lstatSync(path).mode ?? 0) & OTHERS) !== 0)
      throw new Error(`others can read ${path}: run 'chmod 600 ${path}'`)
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    throw new Error("this node belongs to no panel: run 'ncp node setup --panel'", { cause: error })
  }
  const enrolment = parse(text)
  if (!enrolment) throw new Error(`${path} names no panel: run 'ncp node setup --panel'`)
  return enrolment
}

/** Whole or not at all. */
export function writeEnrolment({ enrolment: path }: Pick<NodeLayout, 'enrolment'>, enrolment: PanelAddress): void {
  const value = 'socket' in enrolment ? { panel: enrolment.socket } : { panel: enrolment.url, ca: enrolment.ca }
  writeFileSync(`${path}.new`, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

/** @param panel a path or an origin @returns undefined where it is neither */
export function enrolmentOf(panel: string, ca: string | undefined): PanelAddress | undefined {
  if (isAbsolute(panel)) return { socket: panel }
  const url = URL.canParse(panel) ? new URL(panel) : undefined
  return url?.protocol === 'https:' && [url.origin, `${url.origin}/`].includes(panel)
    ? { url: url.origin, ca }
    : undefined
}

function parse(text: string): PanelAddress | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const { panel, ca } = (value ?? {}) as { panel?: unknown; ca?: unknown }
  if (typeof panel !== 'string' || (ca !== undefined && typeof ca !== 'string')) return undefined
  return enrolmentOf(panel, ca)
}
