/** Which panel a command talks to, and with which key: from the environment of a pipeline, or from a profile. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readAddress } from './address.ts'
import { ClientFailure } from './failures.ts'
import { readFingerprint } from './fingerprint.ts'
import { type Profile, readProfiles } from './profiles.ts'

/** What the environment says, unread. */
export type ClientEnvironment = {
  url: string | undefined
  key: string | undefined
  keyFile: string | undefined
  fingerprint: string | undefined
  /** `$XDG_CONFIG_HOME`, or what stands for it. */
  configHome: string
}

export type Target = { url: URL; key: string; fingerprint: string | undefined }

export const DEFAULT_PROFILE = 'default'

export function profilesPath({ configHome }: ClientEnvironment): string {
  return join(configHome, 'ncp', 'profiles.toml')
}

/** @throws ClientFailure `configuration` for a name that would need quotes */
export function readProfileName(name: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(name)) return name
  throw new ClientFailure('configuration', '--profile: must be 1 to 64 letters, digits, - and _')
}

/** @throws ClientFailure `configuration` */
export function readKey(text: string, label: string): string {
  const key = text.trim()
  if (/^ncp_[0-9a-f]{64}$/.test(key)) return key
  throw new ClientFailure('configuration', `${label}: is no API key; one is ncp_ and 64 hexadecimal digits`)
}

/**
 * A key goes only to the panel that it was given for: one of the environment to `NCP_URL`, one of a profile to its URL.
 *
 * @param profileName undefined for the environment, or else the default profile
 * @throws ClientFailure `configuration`
 */
export async function findTarget(environment: ClientEnvironment, profileName: string | undefined): Promise<Target> {
  const { url, fingerprint } = environment
  const key = profileName === undefined ? keyOf(environment) : undefined
  if (key !== undefined) {
    if (url === undefined) {
      throw new ClientFailure('configuration', 'NCP_URL: name the panel that the key is for; a key goes nowhere else')
    }
    const pinned = fingerprint === undefined ? undefined : readFingerprint(fingerprint, 'NCP_FINGERPRINT')
    return { url: readAddress(url, 'NCP_URL'), key, fingerprint: pinned }
  }
  const name = profileName ?? DEFAULT_PROFILE
  const path = profilesPath(environment)
  const profile = (await readProfiles(path)).get(name)
  if (!profile) {
    throw new ClientFailure(
      'configuration',
      profileName === undefined
        ? "no panel is named: run 'ncp login', or set NCP_URL and NCP_KEY or NCP_KEY_FILE"
        : `${path} has no profile ${name}: run 'ncp login --profile ${name}'`,
    )
  }
  const target = targetOf(profile, `${path}: [${name}]`)
  if (profileName === undefined && url !== undefined && readAddress(url, 'NCP_URL').origin !== target.url.origin) {
    throw new ClientFailure(
      'configuration',
      `NCP_URL: is not ${target.url.origin}, which the key of the profile ${name} was saved with; set NCP_KEY or NCP_KEY_FILE too`,
    )
  }
  return target
}

function targetOf({ url, key, fingerprint }: Profile, label: string): Target {
  return {
    url: readAddress(url, `${label} url`),
    key: readKey(key, `${label} key`),
    fingerprint: fingerprint === undefined ? undefined : readFingerprint(fingerprint, `${label} fingerprint`),
  }
}

function keyOf({ key, keyFile }: ClientEnvironment): string | undefined {
  if (key !== undefined && keyFile !== undefined) {
    throw new ClientFailure('configuration', 'NCP_KEY and NCP_KEY_FILE: set only one of them')
  }
  if (keyFile !== undefined) return readKey(readFileSync(keyFile, 'utf8'), 'NCP_KEY_FILE')
  return key === undefined ? undefined : readKey(key, 'NCP_KEY')
}
