/** Prints lists and facts: aligned under headings on a terminal, tab-separated without headings in a pipe. */
import { printable } from '../core/printable.ts'
import { isTerminal, print, printJson, printStyled, styled } from './output.ts'

type Field = string | number

export type Listing<Row> = {
  rows: readonly Row[]
  json: true | undefined
  /** For `--json`: an array of these. */
  toJson(row: Row): unknown
  /** For a pipe: stable, since scripts read it by position. */
  fields(row: Row): readonly Field[]
  /** For a terminal, by heading; a column in which all are empty is left out. */
  columns: Record<string, (row: Row) => Field>
  /** What a terminal shows in place of no rows. */
  empty: string
}

export function printList<Row>({ rows, json, toJson, fields, columns, empty }: Listing<Row>): void {
  if (json) printJson(rows.map(toJson))
  else if (!isTerminal()) for (const row of rows) print(line(fields(row)))
  else if (rows.length === 0) print(empty)
  else printTable(columns, rows)
}

/** One tab-separated line. */
export function line(fields: readonly Field[]): string {
  return fields.map((field) => printable(`${field}`)).join('\t')
}

/** Names and values, one pair a line. */
export function printFacts(facts: Record<string, Field>): void {
  const rows = Object.entries(facts)
  const width = Math.max(...rows.map(([name]) => name.length))
  for (const [name, value] of rows) {
    if (isTerminal()) printStyled(`${styled('bold', name.padEnd(width))}  ${printable(`${value}`)}`)
    else print(line([name, value]))
  }
}

function printTable<Row>(columns: Listing<Row>['columns'], rows: readonly Row[]): void {
  const table = Object.entries(columns)
    .map(([heading, of]) => ({ heading, values: rows.map(of) }))
    .filter(({ values }) => values.some((value) => value !== ''))
    .map(({ heading, values }) => {
      const cells = [heading, ...values.map((value) => printable(`${value}`))]
      const width = Math.max(...cells.map((cell) => Bun.stringWidth(cell)))
      return { cells, width, isNumber: values.every((value) => typeof value === 'number') }
    })
  for (let at = 0; at <= rows.length; at++) {
    const cells = table.map(({ cells, width, isNumber }) => {
      const cell = cells[at] ?? ''
      const space = ' '.repeat(width - Bun.stringWidth(cell))
      return isNumber ? space + cell : cell + space
    })
    const text = cells.join('  ').trimEnd()
    printStyled(at === 0 ? styled('bold', text) : text)
  }
}
