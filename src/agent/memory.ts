/** What the agent remembers of its panel, and when it does nothing of what it is told until its operator agrees. */
import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pause } from '../core/pause.ts'
import { type Guard, lacksTooMany, type WholeAnswer } from '../node/guard.ts'
import type { Held } from '../node/protocol.ts'
import { readJson, writeJson } from './json-file.ts'
import type { NodeLayout } from './layout.ts'

type Memory = {
  installationId: string
  epoch: string
  highestSubscriptionId: number
}

/** What waits for the operator, as `ncp node accept` shows and accepts it. */
export type Waiting = Held & Pick<WholeAnswer, 'installationId' | 'epoch' | 'absent'>

const LOOK_MS = 1000

export const memoryPaths = ({ agent }: Pick<NodeLayout, 'agent'>) => ({
  memory: join(agent, 'memory.json'),
  held: join(agent, 'held.json'),
  accepted: join(agent, 'accepted.json'),
})

/** @throws Error where what was remembered cannot be read: the agent must not take another panel for its own */
export function createMemory(layout: Pick<NodeLayout, 'agent'>): Guard {
  const paths = memoryPaths(layout)
  let memory = readJson<Memory>(paths.memory)
  let highest = memory?.highestSubscriptionId ?? 0

  function write(next: Memory): void {
    if (JSON.stringify(next) === JSON.stringify(memory)) return
    writeJson(paths.memory, next)
    memory = next
  }

  function reasonToHold({ installationId, epoch, served, absent }: WholeAnswer): Held | undefined {
    const isOther = memory ? memory.installationId !== installationId || memory.epoch !== epoch : served > 0
    if (isOther) {
      const message = "the panel's database is another one, or was restored"
      return { code: 'new_epoch', message }
    }
    if (!lacksTooMany({ served, absent })) return undefined
    const message = `the panel no longer names ${absent} of the ${served} sites that are served`
    return { code: 'too_many_absent', message }
  }

  return {
    async check(answer) {
      const held = reasonToHold(answer)
      const { installationId, epoch, absent } = answer
      const accepted = readJson<Waiting>(paths.accepted)
      const isAccepted =
        accepted?.installationId === installationId && accepted.epoch === epoch && accepted.absent >= absent
      if (held && !isAccepted) {
        writeJson(paths.held, { ...held, installationId, epoch, absent } satisfies Waiting)
        return held
      }
      write({ installationId, epoch, highestSubscriptionId: highest })
      for (const path of [paths.held, paths.accepted]) rmSync(path, { force: true })
      return undefined
    },

    async accepted(signal) {
      while (!signal.aborted && !existsSync(paths.accepted)) await pause(LOOK_MS, signal)
    },

    async remember(subscriptionIds) {
      for (const id of subscriptionIds) if (Number.isSafeInteger(id) && id > highest) highest = id
      if (memory) write({ ...memory, highestSubscriptionId: highest })
    },

    highestSubscriptionId: () => highest,
  }
}

/** @returns what waits for its operator; undefined if nothing does */
export const readHeld = (layout: Pick<NodeLayout, 'agent'>): Waiting | undefined => readJson(memoryPaths(layout).held)

/** @returns what waited, and is accepted now; undefined if nothing did */
export function acceptHeld(layout: Pick<NodeLayout, 'agent'>): Waiting | undefined {
  const { held, accepted } = memoryPaths(layout)
  const waiting = readJson<Waiting>(held)
  if (waiting) renameSync(held, accepted)
  return waiting
}
