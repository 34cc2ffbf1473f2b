/** One access log becomes those of the sites, and counts, whatever strangers put into it. */
import { describe, expect, test } from 'bun:test'
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { trafficPaths } from '../../../src/agent/traffic/traffic.ts'
import { CHUNK_BYTES, MAX_FILE_BYTES, previousOf, QUIET_MS } from '../../../src/agent/traffic/web-log.ts'
import { createWorld, HOUR_MS, lineOf, NOON } from './world.ts'

describe('a line', () => {
  test('is in the log of its site as if the panel itself had served it', async () => {
    const world = createWorld()
    const traffic = world.start()
    traffic.setRules({ days: 14, shortAddresses: false })
    world.write(
      lineOf({ u: '/one', d: 0.25, S: 'https', f: 'https://c.test/', s: 404, b: 12 }),
      lineOf({ h: 'b.test' }),
    )
    await traffic.split()
    expect(readFileSync(join(world.logs, '7/access-2026-12-03.log'), 'utf8')).toBe(
      '{"time":"2026-12-03T12:00:00.000Z","client":"203.0.113.9","scheme":"https","host":"a.test","method":"GET","uri":"/one","status":404,"bytes":12,"duration_ms":250,"referer":"https://c.test/","user_agent":"agent"}\n',
    )
    expect(world.urisOf(8)).toEqual(['/'])
  })

  test('has the network of the visitor alone, unless the panel says that addresses are kept', async () => {
    const world = createWorld()
    const traffic = world.start()
    world.write(lineOf(), lineOf({ r: '2001:db8:1:2::3' }))
    await traffic.split()
    traffic.setRules({ days: 30, shortAddresses: false })
    traffic.setRules({ days: 0, shortAddresses: true })
    traffic.setRules({ days: 14, shortAddresses: 'yes' as never })
    expect(traffic.rules()).toEqual({ days: 30, shortAddresses: false })
    world.write(lineOf())
    await traffic.split()
    expect(world.linesOf(7).map(({ client }) => client)).toEqual(['203.0.113.0', '2001:db8:1::', '203.0.113.9'])
    expect(world.start().rules()).toEqual({ days: 30, shortAddresses: false })
  })

  test('stays one line of its own site, whatever a stranger sends', async () => {
    const world = createWorld()
    const hostile = [
      '"}\n{"h":"b.test","u":"/forged"}',
      'x\\"},"h":"b.test',
      '\r\n\r\n{"time"',
      '\u2028\u2029\u0085\u0000\u001b[2J',
      '"h":"b.test","s":000',
      '../../8/access-2026-12-03.log',
      'é\ud83d\ude00',
      '\\u000a',
      '%0a%00',
    ]
    for (const text of hostile) world.write(lineOf({ u: text, f: text, a: text }))
    for (const h of [
      '../8',
      '8',
      'b.test"',
      '-',
      '',
      '__proto__',
      'constructor',
      'a.test\n',
      'a.test/../b.test',
      'B.TEST',
    ])
      world.write(lineOf({ h, u: '/other' }))
    world.write(lineOf({ u: `/${'x'.repeat(60_000)}`, m: 'M'.repeat(9000) }))
    world.write(Buffer.from(lineOf({ u: '/raw' }).replace('raw', 'raw\xff\xc3'), 'latin1'))
    await world.start().split()
    expect(world.urisOf(7)).toEqual([...hostile, `/${'x'.repeat(2047)}`, '/raw\ufffd\ufffd'])
    expect(world.linesOf(8)).toEqual([])
    expect(readdirSync(world.logs)).toEqual(['7'])
  })

  test('that is no line, or longer than any can be, stops none behind it', async () => {
    const world = createWorld()
    world.write('text\n', '\n', '\0\0\0\n', lineOf().slice(0, -2), '\n', '{"h":"a.test"}\n', lineOf({ u: '/1' }))
    world.write('x'.repeat(3 * CHUNK_BYTES), '\n', lineOf({ u: '/2' }), lineOf({ u: '/unfinished' }).slice(0, -1))
    const traffic = world.start()
    await traffic.split()
    expect(world.urisOf(7)).toEqual(['/1', '/2'])
    world.write('\n')
    await traffic.split()
    expect(world.urisOf(7)).toEqual(['/1', '/2', '/unfinished'])
  })

  test('belongs to nobody about the time at which its name went to another site', async () => {
    const world = createWorld()
    const at = (seconds: number, u: string, d = 0) => lineOf({ t: NOON / 1000 + seconds, u, d })
    world.history.led('a.test', undefined, NOON, NOON + 5)
    world.history.led('a.test', 8, NOON + 100, NOON + 105)
    world.write(at(-10, '/of-7'), at(-1, '/7-too-late'), at(0.05, '/between'), at(1, '/8-too-soon'))
    world.write(at(10, '/of-8'), at(10, '/began-before', 10.5))
    const traffic = world.start()
    await traffic.split()
    expect([world.urisOf(7), world.urisOf(8)]).toEqual([['/of-7'], ['/of-8']])
    await traffic.report()
    expect(world.counted()).toEqual(
      new Map([
        [7, 1],
        [8, 1],
      ]),
    )
  })

  test('that cannot be written holds up no other site', async () => {
    const world = createWorld()
    mkdirSync(world.logs)
    writeFileSync(join(world.logs, '7'), 'no directory')
    world.write(lineOf(), lineOf({ h: 'b.test' }))
    const traffic = world.start()
    await traffic.split()
    expect(world.urisOf(8)).toEqual(['/'])
    await traffic.report()
    expect(world.counted().get(7)).toBe(1)
  })

  test('of a site that is gone is written nowhere', async () => {
    const world = createWorld()
    world.gone.add(7)
    world.write(lineOf(), lineOf({ h: 'b.test' }))
    await world.start().split()
    expect(readdirSync(world.logs)).toEqual(['8'])
  })
})

describe('requests are counted by the hour', () => {
  test('by the time at which they ended, with bytes and classes of status', async () => {
    const world = createWorld()
    const traffic = world.start()
    for (const s of [200, 204, 304, 404, 503, 101, 0]) world.write(lineOf({ s, b: 10 }))
    world.write(lineOf({ t: NOON / 1000 - 0.001, b: 1 }))
    await traffic.split()
    await traffic.report()
    expect(world.batches.flatMap(({ hours }) => hours)).toEqual([
      { siteId: 7, hour: NOON, requests: 7, bytes: 70, statuses: [1, 2, 1, 1, 1] },
      { siteId: 7, hour: NOON - HOUR_MS, requests: 1, bytes: 1, statuses: [0, 1, 0, 0, 0] },
    ])
  })

  test('once, though the panel and the agent are killed between', async () => {
    const world = createWorld()
    const first = world.start()
    world.write(lineOf(), lineOf())
    await first.split()
    world.state.isPanelAway = true
    await expect(first.report()).rejects.toThrow('away')
    const second = world.start()
    world.write(lineOf())
    await second.split()
    await expect(second.report()).rejects.toThrow('away')
    world.state.isPanelAway = false
    // It has arrived, and the agent has not learned it.
    await world.start().report()
    await world.start().report()
    expect(new Set(world.batches.map(({ id }) => id)).size).toBe(2)
    expect(world.counted()).toEqual(new Map([[7, 3]]))
  })

  test('and given up where the panel was away for longer than it takes hours', async () => {
    const world = createWorld()
    const traffic = world.start()
    world.write(lineOf())
    await traffic.split()
    world.clock.advance((8 * 24 * HOUR_MS) / 1000)
    traffic.tidy()
    await traffic.report()
    expect(world.batches).toEqual([])
  })
})

describe('an agent that is killed', () => {
  test('goes on where the one before was', async () => {
    const world = createWorld()
    world.write(lineOf({ u: '/1' }))
    await world.start().split()
    world.write(lineOf({ u: '/2' }))
    const traffic = world.start()
    await traffic.split()
    await traffic.report()
    expect(world.urisOf(7)).toEqual(['/1', '/2'])
    expect(world.counted()).toEqual(new Map([[7, 2]]))
  })

  test('between any two writes leaves no line twice, none out and none counted twice', async () => {
    const world = createWorld()
    const { saved, unfinished } = trafficPaths(world.layout)
    world.write(lineOf({ u: '/1' }), lineOf({ u: '/1', h: 'b.test' }))
    await world.start().split()
    const before = readFileSync(saved)
    const sizes = [7, 8].map((id) => readFileSync(join(world.logs, `${id}/access-2026-12-03.log`)).length)
    world.write(lineOf({ u: '/2' }), lineOf({ u: '/2', h: 'b.test' }))
    await world.start().split()
    const after = readFileSync(saved)
    const { places } = JSON.parse(before.toString())
    const intent = {
      ...places[0],
      files: [7, 8].map((id, index) => ({
        path: join(world.logs, `${id}/access-2026-12-03.log`),
        bytes: sizes[index],
      })),
    }
    /** What is on disk if it is killed when so much of both is written. */
    for (const [bytesOf7, bytesOf8, isSaved] of [
      [0, 0, false],
      [5, 0, false],
      [999, 0, false],
      [999, 7, false],
      [999, 999, false],
      [999, 999, true],
    ] as const) {
      writeFileSync(saved, isSaved ? after : before)
      writeFileSync(unfinished, JSON.stringify(intent))
      for (const [index, bytes] of [bytesOf7, bytesOf8].entries()) {
        const file = intent.files[index]
        if (!file) continue
        const whole = Math.min(readFileSync(file.path).length, (sizes[index] ?? 0) + bytes)
        truncateSync(file.path, whole)
      }
      const traffic = world.start()
      await traffic.split()
      expect([world.urisOf(7), world.urisOf(8)]).toEqual([
        ['/1', '/2'],
        ['/1', '/2'],
      ])
      expect(existsSync(unfinished)).toBe(false)
      world.batches.length = 0
      await traffic.report()
      expect(world.counted()).toEqual(
        new Map([
          [7, 2],
          [8, 2],
        ]),
      )
    }
  })

  test('whose place cannot be read is followed by one that reads what is there', async () => {
    const world = createWorld()
    writeFileSync(trafficPaths(world.layout).saved, '{')
    world.write(lineOf({ u: '/1' }))
    await world.start().split()
    expect(world.urisOf(7)).toEqual(['/1'])
    await world.start().split()
    expect(world.urisOf(7)).toEqual(['/1'])
  })

  test('leaves half a file of what it was about to write: nothing is taken back', async () => {
    const world = createWorld()
    world.write(lineOf({ u: '/1' }))
    await world.start().split()
    writeFileSync(trafficPaths(world.layout).unfinished, '{"device":1,')
    await world.start().split()
    expect(world.urisOf(7)).toEqual(['/1'])
  })
})

describe('the web server goes on in a new file', () => {
  test('before its log is large, and no line is lost that a worker still writes to the old one', async () => {
    const world = createWorld()
    const traffic = world.start()
    const filler = lineOf({ h: '-', u: `/${'x'.repeat(4000)}` })
    appendFileSync(world.path, filler.repeat(Math.ceil(MAX_FILE_BYTES / filler.length)))
    world.write(lineOf({ u: '/1' }))
    await traffic.split()
    expect(world.state.reopened).toBe(1)
    world.write(lineOf({ u: '/3' }))
    appendFileSync(previousOf(world.path), lineOf({ u: '/2' }))
    await traffic.split()
    expect(world.urisOf(7)).toEqual(['/1', '/2', '/3'])
    world.clock.advance(QUIET_MS / 1000 - 1)
    appendFileSync(previousOf(world.path), lineOf({ u: '/4' }))
    await traffic.split()
    world.clock.advance(QUIET_MS / 1000 - 1)
    await traffic.split()
    expect(existsSync(previousOf(world.path))).toBe(true)
    world.clock.advance(1)
    await traffic.split()
    expect(existsSync(previousOf(world.path))).toBe(false)
    expect(world.urisOf(7)).toEqual(['/1', '/2', '/3', '/4'])
    await world.start().split()
    expect(world.urisOf(7)).toHaveLength(4)
  })

  test('each hour, since whole addresses are in it, and never an empty one', async () => {
    const world = createWorld()
    const traffic = world.start()
    world.write(lineOf())
    await traffic.split()
    world.clock.advance(HOUR_MS / 1000 - 1)
    await world.start().split()
    expect(world.state.reopened).toBe(0)
    world.clock.advance(1)
    await traffic.split()
    expect(world.state.reopened).toBe(1)
    await traffic.split()
    world.clock.advance(HOUR_MS / 1000)
    await traffic.split()
    await traffic.split()
    expect(world.state.reopened).toBe(1)
    expect(existsSync(previousOf(world.path))).toBe(false)
  })

  test('though an agent was killed before it had said so, and when it runs again', async () => {
    const world = createWorld()
    writeFileSync(previousOf(world.path), lineOf({ u: '/1' }))
    world.state.isWebServerRunning = false
    const traffic = world.start()
    await traffic.split()
    world.state.isWebServerRunning = true
    await traffic.split()
    expect(world.state.reopened).toBe(1)
    world.write(lineOf({ u: '/2' }))
    await traffic.split()
    expect(world.urisOf(7)).toEqual(['/1', '/2'])
  })

  test('where someone else has emptied it', async () => {
    const world = createWorld()
    const traffic = world.start()
    world.write(lineOf({ u: '/1' }), lineOf({ u: '/1' }))
    await traffic.split()
    truncateSync(world.path, 0)
    world.write(lineOf({ u: '/2' }))
    await traffic.split()
    expect(world.urisOf(7)).toEqual(['/1', '/1', '/2'])
  })
})
