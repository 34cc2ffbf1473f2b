/** A panel that fails to open releases its data directory, so the next attempt needs no new process. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { loadConfig } from '../../src/config/load.ts'
import { dataPaths } from '../../src/data-directory.ts'
import { seizeDirectory } from '../../src/db/sqlite/data-lock.ts'
import { openPanel } from '../../src/panel.ts'
import { createTestClock } from '../harness/clock.ts'
import { newDirectory } from '../harness/directory.ts'
import { noLog } from '../harness/log.ts'
import { workaroundEnvironment } from '../harness/workarounds.ts'

const clock = createTestClock()
let data: string
beforeEach(async () => {
  data = newDirectory()
  const panel = await openPanel(options())
  await panel.initialAdmin.ensure()
  await panel.close()
})
afterEach(() => {
  rmSync(data, { recursive: true })
})

function options() {
  const config = { ...loadConfig({}, workaroundEnvironment), data }
  return { config, clock, log: noLog, panelProcess: { onLostDisk: () => undefined } }
}

/** Seizing takes the directory for itself alone: it fails while anything is open in it. */
async function expectReleased(): Promise<void> {
  const release = seizeDirectory(data)
  expect(release).toBeFunction()
  release?.()
  const panel = await openPanel(options())
  expect(await panel.hasUsers()).toBe(true)
  await panel.close()
}

test('after a secret that is too short, the mended directory opens', async () => {
  const { jwtKey } = dataPaths(data)
  const secret = readFileSync(jwtKey)
  writeFileSync(jwtKey, 'abcd')
  await expect(openPanel(options())).rejects.toThrow('jwt.key is not valid')
  writeFileSync(jwtKey, secret)
  await expectReleased()
})

test('after a feature that fails to start, the directory opens', async () => {
  const { config, ...others } = options()
  const failing = Object.defineProperty({ ...config }, 'adminEmail', {
    get() {
      throw new Error('the feature failed')
    },
  })
  await expect(openPanel({ config: failing, ...others })).rejects.toThrow('the feature failed')
  await expectReleased()
})
