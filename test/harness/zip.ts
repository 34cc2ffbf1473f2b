/** Zip archives made by hand, record by record, since no program makes those that a customer must not have unpacked. */
import { crc32, deflateRawSync } from 'node:zlib'

export type ZipEntry = {
  name: string | Buffer
  body?: string | Uint8Array
  /** Of the local header; that of the list unless it is given. */
  localName?: string | Buffer
  /** `st_mode`; null: made by DOS. A file of 0644 unless it is given. */
  mode?: number | null
  /** 8: deflated. 0 unless it is given. */
  method?: number
  flags?: number
  /** What the list says of the contents. */
  crc?: number
  size?: number
  compressedSize?: number
  /** Where the list says that it is; where it is unless it is given. */
  offset?: number
}

type End = { entries?: number; comment?: string; disk?: number }

const VERSION = 20
const UNIX = 3

export function zip(
  entries: readonly ZipEntry[],
  { entries: count = entries.length, comment = '', disk = 0 }: End = {},
): Buffer {
  const parts: Buffer[] = []
  const list: Buffer[] = []
  let offset = 0
  for (const entry of entries) {
    const { method = 0, flags = 0, mode = 0o100644 } = entry
    const body = Buffer.from(entry.body ?? '')
    const data = method === 8 ? deflateRawSync(body) : body
    const name = Buffer.from(entry.name)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(VERSION, 0)
    common.writeUInt16LE(flags, 2)
    common.writeUInt16LE(method, 4)
    common.writeUInt32LE(entry.crc ?? crc32(body), 10)
    common.writeUInt32LE(entry.compressedSize ?? data.length, 14)
    common.writeUInt32LE(entry.size ?? body.length, 18)
    const localName = Buffer.from(entry.localName ?? name)
    const local = Buffer.from(common)
    local.writeUInt16LE(localName.length, 22)
    parts.push(Buffer.from('PK\x03\x04', 'latin1'), local, localName, data)
    common.writeUInt16LE(name.length, 22)
    const listed = Buffer.alloc(14)
    listed.writeUInt32LE(((mode ?? 0) << 16) >>> 0, 6)
    listed.writeUInt32LE(entry.offset ?? offset, 10)
    const madeBy = Buffer.from([VERSION, mode === null ? 0 : UNIX])
    list.push(Buffer.from('PK\x01\x02', 'latin1'), madeBy, common, listed, name)
    offset += 4 + local.length + localName.length + data.length
  }
  const directory = Buffer.concat(list)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(disk, 0)
  end.writeUInt16LE(count, 4)
  end.writeUInt16LE(count, 6)
  end.writeUInt32LE(directory.length, 8)
  end.writeUInt32LE(offset, 12)
  end.writeUInt16LE(comment.length, 16)
  return Buffer.concat([...parts, directory, Buffer.from('PK\x05\x06', 'latin1'), end, Buffer.from(comment)])
}
