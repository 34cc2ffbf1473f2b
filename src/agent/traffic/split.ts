/** Splits lines of the web server's access log by the sites that were asked. */
import { writeEntry } from '../../site-logs/access-entry.ts'
import { visitorAddress } from '../../site-logs/visitor-address.ts'
import type { NameHistory } from '../web/name-history.ts'
import { readWebLine } from './web-line.ts'

export type Counted = { siteId: number; at: number; status: number; bytes: number }

export type SplitLines = {
  /** By site, its lines, each with its line break. */
  lines: Map<number, string>
  counted: Counted[]
  /** Requests for names that led nowhere, or not surely to one site. */
  ofNone: number
  /** What is no line of the web server. */
  unreadable: number
}

/** @param text whole lines. @param shortAddresses whether the addresses of visitors are cut to their networks */
export function splitLines(
  text: string,
  { siteAt, shortAddresses }: Pick<NameHistory, 'siteAt'> & { shortAddresses: boolean },
): SplitLines {
  /** Parsing one takes as long as the rest of a line, and a visitor asks more than once. */
  const addresses = new Map<string, string>()
  function addressOf(client: string): string {
    const known = addresses.get(client)
    if (known !== undefined) return known
    const address = visitorAddress(client, shortAddresses)
    addresses.set(client, address)
    return address
  }

  const split: SplitLines = { lines: new Map(), counted: [], ofNone: 0, unreadable: 0 }
  for (const line of text.split('\n')) {
    if (line === '') continue
    const request = readWebLine(line)
    if (!request) {
      split.unreadable++
      continue
    }
    const { name, beganAt, endedAt, entry } = request
    const siteId = siteAt(name, beganAt, endedAt)
    if (siteId === undefined) {
      split.ofNone++
      continue
    }
    const written = writeEntry({ ...entry, client: addressOf(entry.client) })
    split.lines.set(siteId, `${split.lines.get(siteId) ?? ''}${written}\n`)
    split.counted.push({ siteId, at: endedAt, status: entry.status, bytes: entry.bytes })
  }
  return split
}
