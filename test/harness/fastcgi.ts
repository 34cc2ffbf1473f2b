/** A FastCGI client: asks a socket of PHP-FPM as nginx would. */
import { connect } from 'node:net'

const BEGIN_REQUEST = 1
const PARAMS = 4
const STDIN = 5
const STDOUT = 6
const STDERR = 7
const END_REQUEST = 3
const HEADER_BYTES = 8

export type FastCgiAnswer = { status: number; headers: Headers; body: string; stderr: string }

/**
 * One request on a connection of its own.
 *
 * @param parameters beyond those that every request has; `SCRIPT_FILENAME` among them
 * @throws Error when the socket cannot be connected to, or is closed before the answer has ended
 */
export function fastCgi(socket: string, parameters: Record<string, string>, body = ''): Promise<FastCgiAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<FastCgiAnswer>()
  const output = new Map<number, Buffer[]>([
    [STDOUT, []],
    [STDERR, []],
  ])
  let received = Buffer.alloc(0)
  const connection = connect(socket)
  connection.on('error', reject)
  connection.on('close', () => reject(new Error(`${socket} was closed before the end of the answer`)))
  connection.on('connect', () => {
    const all = {
      REQUEST_METHOD: body === '' ? 'GET' : 'POST',
      SERVER_PROTOCOL: 'HTTP/1.1',
      GATEWAY_INTERFACE: 'CGI/1.1',
      SCRIPT_NAME: '/index.php',
      REQUEST_URI: '/',
      QUERY_STRING: '',
      CONTENT_LENGTH: `${Buffer.byteLength(body)}`,
      ...parameters,
    }
    connection.write(
      Buffer.concat([
        record(BEGIN_REQUEST, Buffer.from([0, 1, 0, 0, 0, 0, 0, 0])),
        record(PARAMS, Buffer.concat(Object.entries(all).map(([name, value]) => pair(name, value)))),
        record(PARAMS, Buffer.alloc(0)),
        ...(body === '' ? [] : [record(STDIN, Buffer.from(body))]),
        record(STDIN, Buffer.alloc(0)),
      ]),
    )
  })
  connection.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk])
    while (received.length >= HEADER_BYTES) {
      const length = received.readUInt16BE(4)
      const total = HEADER_BYTES + length + received.readUInt8(6)
      if (received.length < total) return
      const type = received.readUInt8(1)
      output.get(type)?.push(Buffer.from(received.subarray(HEADER_BYTES, HEADER_BYTES + length)))
      received = received.subarray(total)
      if (type !== END_REQUEST) continue
      resolve(parse(textOf(output.get(STDOUT)), textOf(output.get(STDERR))))
      connection.end()
    }
  })
  return promise.finally(() => connection.destroy())
}

const textOf = (chunks: Buffer[] = []) => Buffer.concat(chunks).toString()

function parse(text: string, stderr: string): FastCgiAnswer {
  const end = text.indexOf('\r\n\r\n')
  const headers = new Headers()
  for (const line of text.slice(0, end).split('\r\n')) {
    const colon = line.indexOf(':')
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim())
  }
  const status = Number(headers.get('status')?.slice(0, 3) ?? 200)
  return { status, headers, body: text.slice(end + 4), stderr }
}

function record(type: number, content: Buffer): Buffer {
  const header = Buffer.from([1, type, 0, 1, 0, 0, 0, 0])
  header.writeUInt16BE(content.length, 4)
  return Buffer.concat([header, content])
}

function pair(name: string, value: string): Buffer {
  return Buffer.concat([length(name), length(value), Buffer.from(name), Buffer.from(value)])
}

/** One byte below 128, else four with the first bit set. */
function length(text: string): Buffer {
  const bytes = Buffer.byteLength(text)
  if (bytes < 128) return Buffer.from([bytes])
  const long = Buffer.alloc(4)
  long.writeUInt32BE(bytes + 0x80000000)
  return long
}
