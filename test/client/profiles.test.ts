/** Profiles and variables: which panel gets which key, and who else could read it. */
import { afterAll, describe, expect, test } from 'bun:test'
import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readProfiles, saveProfile } from '../../src/client/profiles.ts'
import { findTarget, profilesPath } from '../../src/client/target.ts'
import { readClientEnvironment } from '../../src/config/load.ts'
import { newDirectory } from '../harness/directory.ts'

const directories: string[] = []
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
})
function newPlace(): string {
  const directory = newDirectory()
  directories.push(directory)
  return directory
}

const [ONE, TWO] = [`ncp_${'1a'.repeat(32)}`, `ncp_${'2b'.repeat(32)}`]
const FINGERPRINT = Array.from({ length: 32 }, () => 'AB').join(':')
const HERE = 'https://panel.example.com:3443'

const fresh = (variables: Record<string, string> = {}) =>
  readClientEnvironment({ XDG_CONFIG_HOME: newPlace(), ...variables })

describe('profiles', () => {
  test('are kept in a file of 0600 in a directory of 0700, each with its panel, key and fingerprint', async () => {
    const path = profilesPath(fresh())
    await saveProfile(path, 'default', { url: HERE, key: ONE, fingerprint: FINGERPRINT })
    await saveProfile(path, 'other', { url: 'https://other.example.com', key: TWO })
    await saveProfile(path, 'other', { url: 'https://other.example.com', key: ONE })
    expect([statSync(path).mode & 0o777, statSync(join(path, '..')).mode & 0o777]).toEqual([0o600, 0o700])
    expect(Object.fromEntries(await readProfiles(path))).toEqual({
      default: { url: HERE, key: ONE, fingerprint: FINGERPRINT },
      other: { url: 'https://other.example.com', key: ONE, fingerprint: undefined },
    })
  })

  test('are refused when others can read the file or the directory, and are not changed then', async () => {
    const path = profilesPath(fresh())
    await saveProfile(path, 'default', { url: HERE, key: ONE })
    const before = readFileSync(path, 'utf8')
    for (const [name, mode, own] of [
      [path, 0o640, 0o600],
      [path, 0o604, 0o600],
      [join(path, '..'), 0o755, 0o700],
    ] as const) {
      chmodSync(name, mode)
      await expect(readProfiles(path)).rejects.toThrow(`${name}: others can read it`)
      await expect(saveProfile(path, 'default', { url: HERE, key: TWO })).rejects.toThrow('others can read it')
      chmodSync(name, own)
    }
    expect(readFileSync(path, 'utf8')).toBe(before)
  })

  test.each([
    ['not TOML', 'key = '],
    ['must be a table', 'default = 1'],
    ['must have a url and a key', '[default]\nurl = "https://a.example"'],
    ['has an unknown field: insecure', `[default]\nurl = "${HERE}"\nkey = "${ONE}"\ninsecure = "yes"`],
    ['key: must be text', `[default]\nurl = "${HERE}"\nkey = 7`],
  ])('that are broken are refused, and no key is quoted: %s', async (rule, source) => {
    const environment = fresh()
    const path = profilesPath(environment)
    mkdirSync(join(path, '..'), { mode: 0o700 })
    writeFileSync(path, `${source}\n# ${ONE}`, { mode: 0o600 })
    const failure = await readProfiles(path).then(String, String)
    expect(failure).toContain(rule.replace('not TOML', 'is not valid TOML'))
    expect(failure).not.toContain(ONE)
  })
})

describe('the panel', () => {
  test('is the one of the environment, with its key, before any profile', async () => {
    const file = join(newPlace(), 'key')
    writeFileSync(file, `${TWO}\n`)
    const environment = fresh({ NCP_URL: HERE, NCP_KEY_FILE: file, NCP_FINGERPRINT: FINGERPRINT.toLowerCase() })
    await saveProfile(profilesPath(environment), 'default', { url: 'https://other.example.com', key: ONE })
    const target = await findTarget(environment, undefined)
    expect({ ...target, url: target.url.origin }).toEqual({ url: HERE, key: TWO, fingerprint: FINGERPRINT })
  })

  test('of a profile gets the key of that profile, and no other panel does', async () => {
    const environment = fresh({ NCP_URL: 'https://evil.example.com' })
    await saveProfile(profilesPath(environment), 'default', { url: HERE, key: ONE })
    await expect(findTarget(environment, undefined)).rejects.toThrow(`NCP_URL: is not ${HERE}`)
    const named = await findTarget({ ...environment, key: TWO }, 'default')
    expect([named.url.origin, named.key]).toEqual([HERE, ONE])
    const same = await findTarget({ ...environment, url: `${HERE}/` }, undefined)
    expect(same.key).toBe(ONE)
  })

  test.each<[Record<string, string>, string | undefined, string]>([
    [{}, undefined, "no panel is named: run 'ncp login'"],
    [{ NCP_KEY: '', NCP_URL: '' }, undefined, "no panel is named: run 'ncp login'"],
    [{}, 'shop', "has no profile shop: run 'ncp login --profile shop'"],
    [{ NCP_KEY: ONE }, undefined, 'NCP_URL: name the panel that the key is for'],
    [{ NCP_URL: HERE, NCP_KEY: 'ncp_1' }, undefined, 'NCP_KEY: is no API key'],
    [{ NCP_URL: HERE, NCP_KEY: ONE, NCP_KEY_FILE: '/dev/null' }, undefined, 'set only one of them'],
    [{ NCP_URL: HERE, NCP_KEY: ONE, NCP_FINGERPRINT: 'AB:CD' }, undefined, 'NCP_FINGERPRINT: must be a SHA-256'],
    [{ NCP_URL: 'panel.example.com', NCP_KEY: ONE }, undefined, 'NCP_URL: must'],
    [{ NCP_URL: `${HERE}/api/v1`, NCP_KEY: ONE }, undefined, 'NCP_URL: must end after the host and the port'],
  ])('of %j and profile %p is refused', async (variables, profile, message) => {
    await expect(findTarget(fresh(variables), profile)).rejects.toThrow(message)
  })
})
