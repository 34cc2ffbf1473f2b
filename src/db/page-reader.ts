/** Reads pages of lists in pieces, bounded in rows, bytes and work: no list holds the event loop or fills the memory. */
import { nextTurn } from '../core/next-turn.ts'
import { encodeCursor, type Page, type PageRequest } from '../core/page.ts'
import { createSemaphore, type Semaphore } from '../core/semaphore.ts'
import type { Store } from './store.ts'

/** What one statement reads of a page. */
export type Piece<Row> = {
  /** In the order of the list. */
  rows: Row[]
  /** The id to go on after; undefined where nothing follows. */
  next: number | undefined
}

/**
 * @param afterId the last id that was read or passed over; 0 at the beginning of the list
 * @param wanted rows at the most
 */
export type ReadPiece<Row> = (afterId: number, wanted: number) => Promise<Piece<Row>>

/** About what a page may hold, before it is written as JSON; one row is always given. */
const MAX_PAGE_BYTES = 1_000_000
/** Rows of one statement: a few milliseconds. */
const ROWS_OF_PIECE = 128
/** Of a search that finds little: its page then ends early, and the next goes on from there. */
const MAX_PIECES = 100
/**
 * Pages of more than one piece that are read at one time, over all clients, and that wait for it: so many megabytes at the
 * most, and none waits for so long that its connection is taken for idle.
 */
const LONG_PAGES = { reading: 2, waiting: 16 }

const semaphores = new WeakMap<object, Semaphore>()

/**
 * A page ends at `limit` rows, at about a megabyte, or where a search has looked at enough; it names the next one unless
 * the list has come to an end.
 *
 * @throws AppError `unavailable` when too many long pages are being read
 */
export async function readPage<Row extends { id: number }>(
  store: Pick<Store, 'read'>,
  page: PageRequest,
  readPiece: ReadPiece<Row>,
): Promise<Page<Row>> {
  const rows: Row[] = []
  let bytes = 0
  let pieces = 0
  let after = page.afterId

  /** @returns the page, once it is whole */
  async function readOn(): Promise<Page<Row> | undefined> {
    // One more than are given shows whether a next page is needed.
    const piece = await readPiece(after, Math.min(ROWS_OF_PIECE, page.limit + 1 - rows.length))
    pieces++
    for (const row of piece.rows) {
      bytes += bytesOf(row)
      const last = rows.at(-1)
      if (last && (rows.length >= page.limit || bytes > MAX_PAGE_BYTES)) {
        return { rows, nextCursor: encodeCursor(last.id) }
      }
      rows.push(row)
    }
    if (piece.next === undefined) return { rows }
    if (pieces >= MAX_PIECES) return { rows, nextCursor: encodeCursor(piece.next) }
    after = piece.next
    return undefined
  }

  const short = await readOn()
  if (short) return short
  return semaphoreOf(store).run(async () => {
    for (;;) {
      await nextTurn()
      const whole = await readOn()
      if (whole) return whole
    }
  })
}

/** For statements that pass over nothing: fewer rows than wanted are the last. */
export function pieceOf<Row extends { id: number }>(rows: Row[], wanted: number): Piece<Row> {
  return { rows, next: rows.length < wanted ? undefined : rows.at(-1)?.id }
}

function semaphoreOf(store: object): Semaphore {
  const known = semaphores.get(store)
  if (known) return known
  const made = createSemaphore(LONG_PAGES.reading, LONG_PAGES.waiting)
  semaphores.set(store, made)
  return made
}

/** About what a row takes as JSON: its texts, and some for each field's name. */
function bytesOf(row: object): number {
  let bytes = 0
  for (const value of Object.values(row)) {
    bytes += 24
    if (typeof value === 'string') bytes += value.length
    else if (Array.isArray(value)) for (const item of value) bytes += `${item}`.length + 3
  }
  return bytes
}
