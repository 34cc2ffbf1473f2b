/** A program of one store and nothing else, for tests that let its system calls fail: writes for each line it is sent. */
import { openStore } from '../../src/db/sqlite/store.ts'
import { settings } from '../../src/db/tables.ts'
import { exitAtOnce } from '../../src/system/exit.ts'
import { DISK_THREAD } from '../../src/threads.ts'
import { mapsIndex } from './workarounds.ts'

const [path = '', isAside] = process.argv.slice(2)
const tell = (...words: unknown[]) => process.stdout.write(`${words.join(' ')}\n`)
const log = (fields: object, message: string) => tell('log', message, JSON.stringify(fields))

const store = openStore(path, 0, {
  mapsIndex,
  ...(isAside === 'aside' && { diskThread: DISK_THREAD }),
  log: { info: log, warn: log, error: log },
  onLost: () => {
    tell('lost')
    exitAtOnce(4)
  },
})
tell('open')

for await (const line of console) {
  const [key = '', bytes = '1'] = line.split(' ')
  if (key === 'close') {
    await store.close().catch(() => exitAtOnce(4))
    tell('closed')
    break
  }
  const value = 'x'.repeat(Number(bytes))
  await store
    .write((tx) => tx.insert(settings).values({ key, value, updatedAt: 0 }))
    .then(
      () => tell('written', key),
      (error) => tell('refused', key, error.message),
    )
}
