/** Tar archives made by hand, block by block, since no program makes those that a customer must not have unpacked. */

export type RawEntry = {
  name: string | Buffer
  /** The type flag. A file unless it is given. */
  type?: string
  mode?: number
  /** What the header says; of the body unless it is given. */
  size?: number | string
  target?: string | Buffer
  body?: string | Uint8Array
  prefix?: string
  magic?: string
  checksum?: number
}

const BLOCK_BYTES = 512
export const END = Buffer.alloc(2 * BLOCK_BYTES)

/** A whole archive. */
export const tar = (...entries: readonly RawEntry[]): Buffer => Buffer.concat([...entries.map(rawEntry), END])

export function rawEntry({ name, type = '0', mode = 0o644, target = '', body = '', ...rest }: RawEntry): Buffer {
  const { size = Buffer.byteLength(body), prefix = '', magic = 'ustar\x0000', checksum } = rest
  const header = Buffer.alloc(BLOCK_BYTES)
  header.set(Buffer.from(name).subarray(0, 100), 0)
  header.write(`${octal(mode, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0`, 100, 'latin1')
  header.write(typeof size === 'string' ? size : `${octal(size, 11)}\0`, 124, 'latin1')
  header.write(`${octal(0, 11)}\0        ${type}`, 136, 'latin1')
  header.set(Buffer.from(target).subarray(0, 100), 157)
  header.write(magic, 257, 'latin1')
  header.write(prefix, 345, 'utf8')
  const sum = checksum ?? header.reduce((total, byte) => total + byte, 0)
  header.write(`${octal(sum, 6)}\0 `, 148, 'latin1')
  return Buffer.concat([header, padded(Buffer.from(body))])
}

/** A header of the next entry: pax records. */
export function pax(records: Record<string, string | Buffer>, type = 'x'): RawEntry {
  const body = Object.entries(records).map(([key, value]) => {
    const record = Buffer.concat([Buffer.from(` ${key}=`), Buffer.from(value), Buffer.from('\n')])
    // The length counts its own digits.
    const guess = record.length + `${record.length}`.length
    const length = record.length + `${guess}`.length
    return Buffer.concat([Buffer.from(`${length}`), record])
  })
  return { name: 'PaxHeader', type, body: Buffer.concat(body) }
}

const octal = (number: number, digits: number) => number.toString(8).padStart(digits, '0')

const padded = (body: Buffer) => Buffer.concat([body, Buffer.alloc(-body.length & (BLOCK_BYTES - 1))])
