/** Asks nodes for the last lines of logs. They listen on nothing: they get the question with the state that they ask for, and report the answer. */
import { randomUUID } from 'node:crypto'
import { AppError } from '../core/errors.ts'
import { inTime } from '../core/in-time.ts'
import type { NodeId } from './desired-states.ts'
import type { LogAnswer, LogRequest } from './protocol.ts'

/** Reads logs in this process. */
export type ReadLog = (request: LogRequest) => Promise<string[]>

type Waiting = { nodeId: NodeId; request: LogRequest; isSent: boolean; resolve(lines: string[]): void }

/** The listener cuts a connection that is silent for longer. */
const PATIENCE_MS = 10_000
const RETRY = { 'retry-after': '10' }
/** Of one node. */
const MOST_WAITING = 16
/** Of what a node answers, which may be anything. */
const MAX_LINE = 16 * 1024
const MAX_ANSWER = 1024 * 1024

export type LogRequests = ReturnType<typeof createLogRequests>

/** In memory: whoever waits for an answer asks again after a restart. @param patienceMs how long to wait for a node */
export function createLogRequests(patienceMs = PATIENCE_MS) {
  const waiting = new Map<string, Waiting>()
  let local: ReadLog | undefined
  let added = Promise.withResolvers<void>()

  const unsentOf = (nodeId: NodeId) => [...waiting.values()].filter((entry) => entry.nodeId === nodeId && !entry.isSent)

  async function askNode(nodeId: NodeId, request: LogRequest): Promise<string[]> {
    if ([...waiting.values()].filter((entry) => entry.nodeId === nodeId).length >= MOST_WAITING) {
      throw new AppError('unavailable', 'Too many wait for logs of this node; try again later', RETRY)
    }
    const { promise, resolve } = Promise.withResolvers<string[]>()
    waiting.set(request.id, { nodeId, request, isSent: false, resolve })
    added.resolve()
    added = Promise.withResolvers()
    try {
      const lines = await inTime(promise, patienceMs)
      if (lines) return lines
      throw new AppError('unavailable', 'The node that serves this site did not answer; try again later', RETRY)
    } finally {
      waiting.delete(request.id)
    }
  }

  return {
    /** @throws AppError `unavailable` where the node does not answer in time */
    async ask(nodeId: NodeId, wanted: Omit<LogRequest, 'id'>): Promise<string[]> {
      const request = { id: randomUUID(), ...wanted }
      if (nodeId !== null) return askNode(nodeId, request)
      // A process that serves nothing has no logs.
      return local ? local(request) : []
    },

    /** For the node in this process. */
    answerHere(read: ReadLog): void {
      local = read
    },

    /** What a node has not been asked yet. */
    take(nodeId: NodeId): LogRequest[] {
      return unsentOf(nodeId).map((entry) => {
        entry.isSent = true
        return entry.request
      })
    },

    /** Resolves when there is something to take, or when aborted. */
    async waitForAny(nodeId: NodeId, signal: AbortSignal): Promise<void> {
      const { promise: aborted, resolve } = Promise.withResolvers<void>()
      signal.addEventListener('abort', () => resolve(), { once: true })
      while (!signal.aborted && unsentOf(nodeId).length === 0) await Promise.race([added.promise, aborted])
    },

    /** @param nodeId of the node that answers, by its credential: another's answers are passed over */
    answer(nodeId: NodeId, { id, lines }: LogAnswer): void {
      const asked = waiting.get(id)
      if (asked?.nodeId !== nodeId) return
      asked.resolve(bounded(lines.slice(-asked.request.lines)))
    },
  }
}

/** The last of the lines that are not too much together. */
function bounded(lines: string[]): string[] {
  const kept: string[] = []
  let length = 0
  for (const line of lines.toReversed()) {
    const cut = line.slice(0, MAX_LINE)
    length += cut.length
    if (length > MAX_ANSWER) break
    kept.push(cut)
  }
  return kept.toReversed()
}
