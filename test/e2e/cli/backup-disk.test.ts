/** A backup on a disk that fails to keep it: the system tells that once, and the backup must not be taken for one. */
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { type Installation, install } from '../../harness/binary.ts'
import { outputOf } from '../../harness/program.ts'
import { canTrace } from '../../harness/strace.ts'
import { workaroundEnvironment } from '../../harness/workarounds.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

let here: Installation
beforeEach(async () => {
  here = await install()
})
afterEach(() => here.remove())

describe.skipIf(!canTrace)('a sync of a growing backup that fails', () => {
  test('fails the backup even when the final sync succeeds, and leaves nothing of it', async () => {
    await (await here.serve(['--no-tls'])).stop()
    {
      // Some seconds' work, so that it is synced while it grows.
      using database = new Database(here.inData('ncp.db'))
      const fill = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)'
      database.run(`${fill} INSERT INTO settings SELECT 'filling' || i, hex(randomblob(500)), 0 FROM n`)
    }
    const child = Bun.spawn(
      [
        ...['strace', '-f', '-o', '/dev/null', '-e', 'trace=fdatasync', '-e', 'inject=fdatasync:error=EIO:when=1'],
        ...['./ncp', 'backup', 'create'],
      ],
      {
        cwd: here.directory,
        env: { PATH: '/usr/bin:/bin', NCP_CONFIG: '/dev/null', ...workaroundEnvironment },
        stdout: 'pipe',
        stderr: 'pipe',
      },
    )
    const { stdout, stderr, exitCode } = await outputOf(child, 'ncp backup create')
    expect([exitCode, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^ncp: the backup could not be written to the disk: EIO/)
    expect(readdirSync(here.inData('backups'))).toEqual([])
    expect((await here.run(['backup', 'create'])).exitCode).toBe(0)
    expect(readdirSync(here.inData('backups'))).toHaveLength(1)
  })
})
