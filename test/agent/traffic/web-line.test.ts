/** Lines of the web server's access log, as it writes them. */
import { expect, test } from 'bun:test'
import { readWebLine } from '../../../src/agent/traffic/web-line.ts'

const WRITTEN =
  '{"h":"a.test","t":1796280764.597,"r":"203.0.113.9","m":"GET","u":"/d?x","p":"HTTP/1.1","s":200,"b":281,"i":70,"d":1.250,"S":"https","f":"https://c.test/","a":"agent"}'

test('a line says when a request began and ended, and what it was', () => {
  expect(readWebLine(WRITTEN)).toEqual({
    name: 'a.test',
    beganAt: 1_796_280_763_347,
    endedAt: 1_796_280_764_597,
    entry: {
      at: 1_796_280_764_597,
      client: '203.0.113.9',
      scheme: 'https',
      host: 'a.test',
      method: 'GET',
      uri: '/d?x',
      status: 200,
      bytes: 281,
      durationMs: 1250,
      referer: 'https://c.test/',
      userAgent: 'agent',
    },
  })
})

test('a request that ended before it had a status is read, whatever its texts look like', () => {
  expect(readWebLine(WRITTEN.replace('"s":200', '"s":000'))?.entry.status).toBe(0)
  expect(readWebLine(WRITTEN.replace('"s":200', '"s":009'))?.entry.status).toBe(9)
  const texts = WRITTEN.replace('"s":200', '"s":000').replace('/d?x', '/?\\"s\\":007')
  expect(readWebLine(texts)?.entry).toMatchObject({ status: 0, uri: '/?"s":007' })
})

test('what is no such line is none', () => {
  for (const line of [
    '',
    'text',
    'null',
    '7',
    '[]',
    '{}',
    WRITTEN.slice(0, -1),
    WRITTEN.slice(20),
    `${WRITTEN}${WRITTEN}`,
    WRITTEN.replace('"a.test"', '7'),
    WRITTEN.replace('"a.test"', 'null'),
    WRITTEN.replace('1796280764.597', '"now"'),
    WRITTEN.replace('1796280764.597', '1e999'),
    WRITTEN.replace('"b":281', '"b":-1'),
    WRITTEN.replace('"s":200', '"s":true'),
  ]) {
    expect([line, readWebLine(line)]).toEqual([line, undefined])
  }
})
