/** Cuts what a node reports into what one request may hold: a single text that is too long must not hold up all others. */
import type { Failure, LogAnswer, NodeReport, ReleaseReport, SiteReport } from '../node/protocol.ts'

/** Of each kind in one request. */
const MOST_ENTRIES = 100
const MOST_ORPHANS = 100
const MAX_MESSAGE = 1000
const MAX_ENTRY = 4096
/** Of the lines of one log. */
const MAX_LINES_LENGTH = 400_000

/** @returns the requests to send, in order */
export function* requestsOf(report: NodeReport): Generator<NodeReport> {
  const { node, description, usage, logAnswers = [], ...lists } = report
  const { sites, releases, removedSubscriptions, sizes = [], subscriptionSizes = [], ...rest } = lists
  const { certificates = [], challenges = [], ...others } = rest
  // Does not compile when a report can hold more than this file knows.
  others satisfies Record<string, never>
  if (node || description || usage) {
    yield {
      ...nothing,
      ...(node && { node: { ...node, orphans: node.orphans.slice(0, MOST_ORPHANS) } }),
      ...(description && { description }),
      ...(usage && { usage }),
    }
  }
  for (const piece of piecesOf(sites.map(plainSite))) yield { ...nothing, sites: piece }
  for (const piece of piecesOf(releases.map(plainRelease))) yield { ...nothing, releases: piece }
  for (const piece of piecesOf([...new Set(removedSubscriptions)])) yield { ...nothing, removedSubscriptions: piece }
  for (const piece of piecesOf(sizes)) yield { ...nothing, sizes: piece }
  for (const piece of piecesOf(subscriptionSizes)) yield { ...nothing, subscriptionSizes: piece }
  for (const piece of piecesOf(certificates)) yield { ...nothing, certificates: piece }
  for (const piece of piecesOf(challenges)) yield { ...nothing, challenges: piece }
  for (const answer of logAnswers) yield { ...nothing, logAnswers: [lastOf(answer)] }
}

const nothing: NodeReport = { sites: [], releases: [], removedSubscriptions: [] }

const piecesOf = <Entry>(entries: Entry[]): Entry[][] =>
  Array.from({ length: Math.ceil(entries.length / MOST_ENTRIES) }, (_, index) =>
    entries.slice(index * MOST_ENTRIES, (index + 1) * MOST_ENTRIES),
  )

const plainSite = (site: SiteReport): SiteReport =>
  site.state === 'failed' ? { ...site, failure: plainFailure(site.failure) } : site

function plainRelease(release: ReleaseReport): ReleaseReport {
  if (release.state !== 'failed') return release
  const { entry } = release.failure
  const plainEntry = entry && plain(entry, MAX_ENTRY)
  return {
    ...release,
    failure: {
      ...release.failure,
      ...plainFailure(release.failure),
      ...(entry !== undefined && { entry: plainEntry ?? null }),
    },
  }
}

const plainFailure = (failure: Failure): Failure => ({ ...failure, message: plain(failure.message, MAX_MESSAGE) })

/** What the panel takes: without control characters and halves of surrogate pairs. */
const plain = (text: string, length: number): string =>
  text
    .slice(0, length)
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, ' ')

/** The last lines, as many as there is room for. */
function lastOf({ id, lines }: LogAnswer): LogAnswer {
  let room = MAX_LINES_LENGTH
  const kept = lines.toReversed().filter((line) => {
    room -= line.length
    return room >= 0
  })
  return { id, lines: kept.toReversed() }
}
