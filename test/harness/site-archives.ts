/** Archives of sites, deployed as the API stores an upload. */
import { expect } from 'bun:test'
import { createHash } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { panelItself } from '../../src/core/actor.ts'
import { deployments } from '../../src/db/tables.ts'
import { desired } from '../../src/node/desired-states.ts'
import { newDirectory } from './directory.ts'
import type { Panel } from './panel.ts'
import { DEADLINE_MS } from './until.ts'

/** An archive with these files, made by GNU tar. */
export function archiveOf(files: Record<string, string>): Buffer {
  const directory = newDirectory()
  for (const [name, content] of Object.entries(files)) {
    const path = join(directory, name)
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, content)
  }
  const { stdout, exitCode } = Bun.spawnSync(['tar', '-cz', '-C', directory, ...Object.keys(files)])
  expect(exitCode).toBe(0)
  rmSync(directory, { recursive: true })
  return stdout
}

type Target = { id: number; subscription_id: number }

/** The archive, and in one transaction the row and the news for the node. @returns the deployment's id */
export function deployTo(panel: Panel, site: Target, archive: Buffer, number: number): Promise<number> {
  return panel.services.writeAs(panelItself, async (tx) => {
    const [row] = await tx
      .insert(deployments)
      .values({
        siteId: site.id,
        number,
        status: 'unpacking',
        sha256: createHash('sha256').update(archive).digest('hex'),
        archiveBytes: archive.length,
        activates: true,
        createdAt: panel.clock.now(),
      })
      .returning()
    const deployment = row?.id ?? 0
    mkdirSync(join(panel.data, 'sites/archives'), { recursive: true })
    writeFileSync(join(panel.data, 'sites/archives', `${deployment}`), archive, { mode: 0o600 })
    await desired.announce(tx, site.subscription_id)
    return deployment
  })
}

/** Waits for the end of a deployment. */
export async function endOf(panel: Panel, deploymentId: number): Promise<string> {
  const deadline = performance.now() + DEADLINE_MS
  for (;;) {
    const change = panel.services.commits.next(AbortSignal.timeout(1000))
    const row = (await panel.services.store.read.select().from(deployments)).find(({ id }) => id === deploymentId)
    if (row && !['unpacking', 'ready'].includes(row.status)) return row.status
    if (performance.now() > deadline) throw new Error(`deployment ${deploymentId} stays ${row?.status}`)
    await change
  }
}
