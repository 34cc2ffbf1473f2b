/** Reads list pages in pieces, bounded in rows, bytes and work: no list blocks the event loop or fills the memory. */
import { nextTurn } from '../core/next-turn.ts'
import { encodeCursor, type Page, type PageRequest } from '../core/page.ts'
import { createSemaphore, type Semaphore } from '../core/semaphore.ts'
import type { Store } from './store.ts'

/** The part of a page that one statement reads. */
export type Piece<Row> = {
  /** In list order. */
  rows: Row[]
  /** The id to continue after; undefined at the end of the list. */
  next: number | undefined
}

/**
 * @param afterId the last id read or skipped; 0 at the start of the list
 * @param wanted the most rows to return
 */
export type ReadPiece<Row> = (afterId: number, wanted: number) => Promise<Piece<Row>>

/** Approximate limit of a page, before it is written as JSON; at least one row is always returned. */
const MAX_PAGE_BYTES = 1_000_000
/** Rows per statement: a few milliseconds. */
const ROWS_OF_PIECE = 128
/** Bounds a search with few matches: its page then ends early, and the next one continues from there. */
const MAX_PIECES = 100
/**
 * Pages of more than one piece that are being read or waiting, over all clients: this bounds the memory to as many
 * megabytes, and no page waits so long that its connection counts as idle.
 */
const LONG_PAGES = { reading: 2, waiting: 16 }

const semaphores = new WeakMap<object, Semaphore>()

/**
 * Reads a page, which ends at `limit` rows, at about a megabyte, or where a search has looked at enough rows. It points
 * to the next one unless the list has ended.
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

  /** @returns the page, once it is complete */
  async function readOn(): Promise<Page<Row> | undefined> {
    // One row more than the page takes shows whether there is a next page.
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

/** For statements that skip nothing: if there are fewer rows than wanted, the list has ended. */
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

/** Approximate size of a row as JSON: its texts, plus some for each field's name. */
function bytesOf(row: object): number {
  let bytes = 0
  for (const value of Object.values(row)) {
    bytes += 24
    if (typeof value === 'string') bytes += value.length
    else if (Array.isArray(value)) for (const item of value) bytes += `${item}`.length + 3
  }
  return bytes
}
