/** Secret files, sealed secrets, and the queue in front of the password hash. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { bunArgon2, loadArgon2 } from '../../src/crypto/argon2.ts'
import { createPasswords, type Line } from '../../src/crypto/passwords.ts'
import { loadSecret } from '../../src/crypto/secret.ts'
import { createSecretBox } from '../../src/crypto/secret-box.ts'
import { newDirectory } from '../harness/directory.ts'

const directory = newDirectory()
afterAll(() => rmSync(directory, { recursive: true }))

describe('a secret file', () => {
  test('is created once, readable only by its owner, and differs between installations', () => {
    const [path, other] = [join(directory, 'a.key'), join(directory, 'b.key')]
    const secret = loadSecret(path, { create: true })
    expect(secret).toHaveLength(32)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(loadSecret(path, { create: false })).toEqual(secret)
    expect(loadSecret(other, { create: true })).not.toEqual(secret)
  })

  test('is not recreated silently when it is missing', () => {
    expect(() => loadSecret(join(directory, 'missing.key'), { create: false })).toThrow('restore it from a backup')
  })

  test.each(['', 'changeme', 'ab'.repeat(31), 'zz'.repeat(32), `${'ab'.repeat(32)}c`])(
    'of %j is refused without being shown',
    (text) => {
      const path = join(directory, 'bad.key')
      writeFileSync(path, text)
      let message = ''
      try {
        loadSecret(path, { create: true })
      } catch (error) {
        message = (error as Error).message
      }
      expect(message).toContain('must contain at least 32 bytes in hex')
      if (text !== '') expect(message).not.toContain(text)
      expect(readFileSync(path, 'utf8')).toBe(text)
    },
  )

  test('that cannot be read stops the start', () => {
    const path = join(directory, 'folder.key')
    mkdirSync(path)
    expect(() => loadSecret(path, { create: true })).toThrow(/^cannot read the secret .*folder\.key \(EISDIR\)$/)
  })
})

describe('a sealed secret', () => {
  const box = createSecretBox(Buffer.alloc(32, 1))

  test('opens only with its key and its context', () => {
    const sealed = box.seal('seed', 'totp:1')
    expect(box.open(sealed, 'totp:1')).toBe('seed')
    expect(() => box.open(sealed, 'totp:2')).toThrow()
    expect(() => createSecretBox(Buffer.alloc(32, 2)).open(sealed, 'totp:1')).toThrow()
  })

  test('does not open once any byte is changed or cut off', () => {
    const sealed = Buffer.from(box.seal('seed', 'totp:1'), 'base64')
    for (let i = 0; i < sealed.length; i++) {
      const changed = Buffer.from(sealed)
      changed[i] = (changed[i] ?? 0) ^ 1
      expect(() => box.open(changed.toString('base64'), 'totp:1')).toThrow()
      expect(() => box.open(sealed.subarray(0, i).toString('base64'), 'totp:1')).toThrow()
    }
  })

  test('never uses the same nonce twice', () => {
    const nonces = Array.from({ length: 1000 }, () =>
      Buffer.from(box.seal('x', 'y'), 'base64').subarray(0, 12).toString('hex'),
    )
    expect(new Set(nonces).size).toBe(1000)
  })
})

describe('argon2id', () => {
  const costs = { memoryCost: 19_456, timeCost: 2 }
  const addon = () => loadArgon2({ isNative: true, givesWay: true })

  test('runs as native code on machines that have the addon', async () => {
    // Bun's salts have 32 bytes, the addon's 16.
    expect((await (await addon()).hash('x', costs)).split('$')[4]).toHaveLength(22)
  })

  test('runs in the runtime’s own code when the addon is turned off', async () => {
    const { hash } = await loadArgon2({ isNative: false, givesWay: true })
    expect((await hash('x', costs)).split('$')[4]).toHaveLength(43)
  })

  test('hashes of either implementation verify in the other, including characters beyond ASCII', async () => {
    const native = await addon()
    for (const password of ['x', 'Grüße, 東京 🗼', 'y'.repeat(256), ' ', 'nul\0byte']) {
      for (const [maker, verifier] of [
        [native, bunArgon2],
        [bunArgon2, native],
      ] as const) {
        const hash = await maker.hash(password, costs)
        expect(await verifier.verify(password, hash)).toBeTrue()
        expect(await verifier.verify(`${password}x`, hash)).toBeFalse()
      }
    }
  }, 600_000)
})

describe('password hashing', () => {
  test('is argon2id with OWASP’s parameters', async () => {
    const passwords = createPasswords({ concurrent: 1, queued: 1 })
    const hash = await passwords.hash('a password')
    expect(hash).toStartWith('$argon2id$v=19$m=19456,t=2,p=1$')
    expect(passwords.isOutdated(hash)).toBeFalse()
    expect(passwords.isOutdated(hash.replace('m=19456', 'm=19455'))).toBeTrue()
    expect(await passwords.verify('a password', 'unknown', async () => hash)).toBe(hash)
    expect(await passwords.verify('a passwore', 'unknown', async () => hash)).toBeUndefined()
  })

  test('costs one hash for an empty password, an unknown user, and a missing stored hash', async () => {
    const passwords = createPasswords({ concurrent: 1, queued: 1 })
    const hash = await passwords.hash('a password')
    const bomb = hash.replace('m=19456', 'm=99999999')
    for (const [password, stored] of [
      ['', hash],
      ['x', null],
      ['', null],
      ['x', ''],
      ['x', 'plain'],
      ['x', bomb],
      ['x', `${hash}A`],
      ['x', hash.replace(/[^$]+$/, 'AA')],
    ] as const) {
      const before = passwords.hashed
      expect(await passwords.verify(password, 'unknown', async () => stored)).toBeUndefined()
      expect(passwords.hashed - before).toBe(1)
    }
  })

  test('serves known clients before strangers, in order of arrival, and keeps places for them when strangers fill theirs', async () => {
    const passwords = createPasswords({ concurrent: 1, queued: 2 })
    const served: string[] = []
    const verify = (name: string, line: Line) =>
      passwords.verify('x', line, async () => {
        served.push(name)
        return null
      })
    const strangers = ['first', 'second', 'third', 'fourth'].map((name) => verify(name, 'unknown'))
    const known = [verify('known', 'known'), passwords.hash('y')]
    const results = await Promise.allSettled([...strangers, ...known])
    expect(results.map(({ status }) => status === 'fulfilled')).toEqual([true, true, true, false, true, true])
    expect(served).toEqual(['first', 'known', 'second', 'third'])
  })

  test('yields to the event loop', async () => {
    const passwords = createPasswords({ concurrent: 1, queued: 2 })
    await Promise.all([passwords.hash('x'), passwords.hash('x'), passwords.hash('x')])
    const priorities = readdirSync('/proc/self/task')
      .filter((thread) => readFileSync(`/proc/self/task/${thread}/comm`, 'latin1').startsWith('Bun Pool'))
      .map((thread) => getPriority(Number(thread)))
    expect(priorities).not.toBeEmpty()
    expect(Math.max(...priorities)).toBe(Math.min(getPriority() + 10, 19))
  })

  test('queues up to its limit and refuses the rest at once with 503', async () => {
    const passwords = createPasswords({ concurrent: 1, queued: 2 })
    let loaded = 0
    const load = async () => {
      loaded++
      return null
    }
    const results = await Promise.allSettled(Array.from({ length: 6 }, () => passwords.verify('x', 'unknown', load)))
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
    expect(refused).toHaveLength(3)
    for (const error of refused) expect(error).toMatchObject({ code: 'unavailable', headers: { 'retry-after': '2' } })
    // What was refused has not even looked at the account, and so counts as no attempt.
    expect(loaded).toBe(3)
    expect(await passwords.verify('x', 'unknown', load)).toBeUndefined()
  })
})
