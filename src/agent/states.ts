/** The pages of sites that show none of their own: suspended, switched off, or without a deployment. */
import { chmodSync, chownSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { disabledPage, htmlOf, suspendedPage, waitingPage } from '../node/site-pages.ts'
import { ensureDirectory } from './directory.ts'
import type { NodeLayout } from './layout.ts'

const MODE = 0o750
const FILE_MODE = 0o640

/** By directory below `states`: its one file. */
const FILES = {
  suspended: { name: '503.html', html: htmlOf(suspendedPage) },
  disabled: { name: '503.html', html: htmlOf(disabledPage) },
  waiting: { name: 'index.html', html: htmlOf(waitingPage('It')) },
}

/** The file under which the web server looks for the page of a site that is not to be served. */
export const AWAY_PAGE = '503.html'

export const pageOf = ({ states }: Pick<NodeLayout, 'states'>, state: 'suspended' | 'disabled'): string =>
  join(states, state, AWAY_PAGE)

export const waitingRoot = ({ states }: Pick<NodeLayout, 'states'>): string => join(states, 'waiting')

export function ensureStates(layout: NodeLayout, webGid: number): void {
  for (const [directory, { name, html }] of Object.entries(FILES)) {
    ensureDirectory({ path: join(layout.states, directory), mode: MODE, gid: webGid })
    const path = join(layout.states, directory, name)
    if (textOf(path) === html) continue
    const made = join(layout.staging, `page-${directory}`)
    writeFileSync(made, html)
    chownSync(made, 0, webGid)
    chmodSync(made, FILE_MODE)
    renameSync(made, path)
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
