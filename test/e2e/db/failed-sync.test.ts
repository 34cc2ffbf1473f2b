/** A sync that fails, by strace: nothing more is confirmed until everything was rewritten, or the process has ended. */
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { ended } from '../../harness/program.ts'
import { canTrace, failSyncs, watchCalls } from '../../harness/strace.ts'
import { until } from '../../harness/until.ts'

const PROGRAM = resolve(import.meta.dir, '../../harness/store-process.ts')
/** More than the log gets before it is moved into the database. */
const MUCH = 6_000_000

let directory: string
let path: string
const cleanUp: (() => unknown)[] = []
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'ncp-test-'))
  path = join(directory, 'ncp.db')
})
afterEach(async () => {
  for (const undo of cleanUp.splice(0).reverse()) await undo()
  rmSync(directory, { recursive: true })
})

async function start(...args: string[]) {
  const child = Bun.spawn([process.execPath, PROGRAM, path, ...args], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  cleanUp.push(() => {
    child.kill('SIGKILL')
    return child.exited
  })
  let said = ''
  const listening = (async () => {
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) said += chunk
  })()
  const lines = () => said.split('\n')
  const sees = (begin: string) => until(begin, () => lines().find((line) => line.startsWith(begin)))
  await sees('open')
  return {
    pid: child.pid,
    lines,
    sees,
    ask: (...words: unknown[]) => child.stdin.write(`${words.join(' ')}\n`),
    /** @returns the line with the answer */
    write: async (key: string, bytes = 1) => {
      child.stdin.write(`${key} ${bytes}\n`)
      return until(`the answer to ${key}`, () =>
        lines().find((line) => line === `written ${key}` || line.startsWith(`refused ${key} `)),
      )
    },
    async fail(options: Parameters<typeof failSyncs>[1] = {}): Promise<() => Promise<void>> {
      const stop = await failSyncs(child.pid, options)
      cleanUp.push(stop)
      return stop
    },
    async ended(): Promise<number> {
      await ended(child, 'the store')
      await listening
      return child.exitCode ?? -1
    },
  }
}

function storedKeys(): unknown[] {
  using database = new Database(path)
  expect(database.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  return database
    .query<{ key: string }, []>('SELECT key FROM settings ORDER BY key')
    .all()
    .map(({ key }) => key)
}

const UNKNOWN = /may or may not have been made; check before you repeat it$/

describe.skipIf(!canTrace)('a failed sync of the log', () => {
  test('refuses that change, rewrites the log and continues', async () => {
    const store = await start()
    expect(await store.write('before')).toBe('written before')
    await store.fail({ thread: store.pid, when: '1' })
    expect(await store.write('during')).toMatch(UNKNOWN)
    await store.sees('log all data was written again')
    expect(await store.write('after')).toBe('written after')
    store.ask('close')
    expect(await store.ended()).toBe(0)
    expect(storedKeys()).toEqual(expect.arrayContaining(['after', 'before']))
  })

  test('that repeats ends the process without another confirmation, and loses nothing confirmed before', async () => {
    const store = await start()
    expect(await store.write('before')).toBe('written before')
    await store.fail()
    expect(await store.write('during')).toMatch(UNKNOWN)
    store.ask('next')
    expect(await store.ended()).toBe(4)
    expect(store.lines().filter((line) => line.startsWith('written'))).toEqual(['written before'])
    expect(store.lines().join('\n')).toMatch(/log the disk does not keep what is written.*Check the disk/)

    const again = await start()
    expect(await again.write('after')).toBe('written after')
    again.ask('close')
    expect(await again.ended()).toBe(0)
    expect(storedKeys()).toEqual(expect.arrayContaining(['after', 'before']))
  })

  test('leaves a log that the next process rewrites and syncs before it builds on it', async () => {
    const store = await start()
    await store.write('before')
    await store.fail()
    await store.write('during')
    expect(await store.ended()).toBe(4)
    const refused = Bun.spawnSync(
      [
        'strace',
        '-f',
        '-o',
        '/dev/null',
        '-e',
        'trace=fsync,fdatasync',
        '-e',
        'inject=fsync,fdatasync:error=EIO',
        process.execPath,
        PROGRAM,
        path,
      ],
      { stdin: 'ignore' },
    )
    expect(refused.exitCode).not.toBe(0)
    expect(refused.stdout.toString()).not.toContain('open')
    expect(refused.stderr.toString()).toContain('the disk does not keep what is written')
    expect(storedKeys()).toContain('before')
  })

  test('in the separate thread is noticed, even if the next would succeed', async () => {
    const store = await start('aside')
    const threads = await syncingThreads(store)
    expect(threads).toHaveLength(1)
    await store.fail({ thread: threads[0] ?? 0, when: '1' })
    expect(await store.write('during')).toMatch(UNKNOWN)
    await store.sees('log all data was written again')
    expect(await store.write('after')).toBe('written after')
    store.ask('close')
    expect(await store.ended()).toBe(0)
    expect(storedKeys()).toEqual(expect.arrayContaining(['after', 'during']))
  })
})

/** Writes until the thread is there. @returns the threads that wait for the disk then */
async function syncingThreads(store: Awaited<ReturnType<typeof start>>): Promise<number[]> {
  for (let count = 0; ; count++) {
    const stop = await watchCalls(store.pid, 'fdatasync,fsync')
    for (let write = 0; write < 5; write++) {
      const key = `warm${count}-${write}`
      expect(await store.write(key)).toBe(`written ${key}`)
    }
    const syncing = (await stop()).filter((line) => /\bfdatasync\(/.test(line)).map((line) => Number.parseInt(line, 10))
    const threads = [...new Set(syncing)].filter((thread) => thread !== store.pid)
    if (threads.length > 0) return threads
  }
}

describe.skipIf(!canTrace)('a failed sync of the database file', () => {
  test('is noticed, and the whole log is checkpointed again', async () => {
    const store = await start()
    await store.write('before')
    await store.fail({ path, thread: store.pid, when: '1' })
    expect(await store.write('much', MUCH)).toMatch(UNKNOWN)
    await store.sees('log all data was written again')
    expect(await store.write('after')).toBe('written after')
    store.ask('close')
    expect(await store.ended()).toBe(0)
    expect(storedKeys()).toEqual(expect.arrayContaining(['after', 'before', 'much']))
  })

  test('after a partial checkpoint cannot be repaired, and ends the process with its log intact', async () => {
    const store = await start()
    await store.write('before')
    {
      // Who reads older pages keeps a checkpoint from moving, and syncing, all of it.
      using reader = new Database(path, { readonly: true })
      reader.run('BEGIN')
      reader.query('SELECT count(*) FROM settings').get()
      expect(await store.write('much', MUCH)).toBe('written much')
    }
    await store.fail({ path, thread: store.pid, when: '1' })
    expect(await store.write('more', MUCH)).toMatch(UNKNOWN)
    expect(await store.ended()).toBe(4)

    const again = await start()
    again.ask('close')
    expect(await again.ended()).toBe(0)
    expect(storedKeys()).toEqual(expect.arrayContaining(['before', 'more', 'much']))
  })

  test('at the end is reported, and leaves the log', async () => {
    const store = await start()
    await store.write('before')
    const stop = await store.fail({ path })
    store.ask('close')
    expect(await store.ended()).toBe(4)
    await stop()
    expect(Bun.file(`${path}-wal`).size).toBeGreaterThan(0)
    expect(storedKeys()).toEqual(['before'])
  })
})
