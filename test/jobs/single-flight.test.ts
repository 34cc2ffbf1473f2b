/** One run at a time: who shares a run, and who gets one of its own. */
import { beforeEach, describe, expect, test } from 'bun:test'
import { createSingleFlight, type SingleFlight } from '../../src/jobs/single-flight.ts'

type Run = ReturnType<typeof Promise.withResolvers<string>>

let runs: Run[]
let flight: SingleFlight<string>
beforeEach(() => {
  runs = []
  flight = createSingleFlight(() => {
    const run = Promise.withResolvers<string>()
    runs.push(run)
    return run.promise
  })
})

/** Ends a run, and lets everything happen that follows from it. */
async function end(index: number, how: (run: Run) => void = (run) => run.resolve(`run ${index + 1}`)): Promise<void> {
  const run = runs[index]
  if (!run) throw new Error(`there is no run ${index + 1}`)
  how(run)
  await Bun.sleep(0)
}

describe('join', () => {
  test('shares the current run, and begins another once that is over', async () => {
    const both = [flight.join(), flight.join()]
    expect(runs).toHaveLength(1)
    await end(0)
    expect(await Promise.all(both)).toEqual(['run 1', 'run 1'])
    const later = flight.join()
    expect(runs).toHaveLength(2)
    await end(1)
    expect(await later).toBe('run 2')
  })

  test('reports a failure to all callers who share the run, and to none after them', async () => {
    const both = [flight.join(), flight.join()].map((run) => run.catch((error: Error) => error.message))
    await end(0, (run) => run.reject(new Error('no')))
    expect(await Promise.all(both)).toEqual(['no', 'no'])
    const later = flight.join()
    await end(1)
    expect(await later).toBe('run 2')
  })
})

describe('next', () => {
  test('begins at once when nothing runs', async () => {
    const only = flight.next()
    expect(runs).toHaveLength(1)
    await end(0)
    expect(await only).toBe('run 1')
  })

  test('begins after the current run, once for all callers who asked during it', async () => {
    const first = flight.next()
    const both = [flight.next(), flight.next()]
    expect(runs).toHaveLength(1)
    await end(0)
    expect(await first).toBe('run 1')
    expect(runs).toHaveLength(2)
    const third = flight.next()
    await end(1)
    expect(await Promise.all(both)).toEqual(['run 2', 'run 2'])
    await end(2)
    expect(await third).toBe('run 3')
  })

  test('runs even when the run before it fails', async () => {
    const first = flight.next().catch((error: Error) => error.message)
    const second = flight.next()
    await end(0, (run) => run.reject(new Error('no')))
    await end(1)
    expect([await first, await second]).toEqual(['no', 'run 2'])
  })

  test('allows no run beside it in the moment between two', async () => {
    const first = flight.next()
    // Asked for before the second run is, so that it hears of the end of the first before the second begins.
    const joined = first.then(() => flight.join())
    const second = flight.next()
    await end(0)
    expect(runs).toHaveLength(2)
    await end(1)
    expect(await Promise.all([second, joined])).toEqual(['run 2', 'run 2'])
  })
})

describe('idle', () => {
  test('resolves at once when nothing runs', async () => {
    await flight.idle()
  })

  test('waits for the current run and for the one after it, whether they succeed or fail', async () => {
    const both = [flight.next(), flight.next()].map((run) => run.catch((error: Error) => error.message))
    let isIdle = false
    const idle = flight.idle().then(() => {
      isIdle = true
    })
    await end(0, (run) => run.reject(new Error('no')))
    expect(isIdle).toBe(false)
    await end(1)
    await idle
    expect(await Promise.all(both)).toEqual(['no', 'run 2'])
  })
})
