/** Keyset pagination: rows in order of id, and an opaque cursor that names the last one seen. */
import { AppError } from './errors.ts'

export const PAGE_LIMIT = { default: 100, maximum: 1000 }

export type PageRequest = {
  /** Rows wanted, 1 to 1000. */
  limit: number
  /** Rows that follow this id in the order of the list. 0 starts from the beginning. */
  afterId: number
}

export type Page<Row> = {
  rows: Row[]
  /** Present when more rows follow. */
  nextCursor?: string
}

/**
 * @param cursor as given out in a page's `nextCursor`
 * @throws AppError `validation_error` for a cursor that we never gave out
 */
export function pageRequest(limit: number | undefined, cursor: string | undefined): PageRequest {
  return { limit: limit ?? PAGE_LIMIT.default, afterId: cursor === undefined ? 0 : decodeCursor(cursor) }
}

/** All rows, page by page, for work that no client waits for. */
export async function allRows<Row>(list: (page: PageRequest) => Promise<Page<Row>>): Promise<Row[]> {
  const rows: Row[] = []
  let cursor: string | undefined
  do {
    const page = await list(pageRequest(PAGE_LIMIT.maximum, cursor))
    rows.push(...page.rows)
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return rows
}

/** @param id of the last row of a page */
export function encodeCursor(id: number): string {
  return Buffer.from(`id:${id}`).toString('base64url')
}

function decodeCursor(cursor: string): number {
  const id = /^id:(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1]
  if (id === undefined) {
    throw new AppError('validation_error', 'cursor: take it unchanged from the Link header of the previous page')
  }
  return Number(id)
}
