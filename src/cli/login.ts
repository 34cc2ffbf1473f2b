/** `ncp login`: saves a panel and an API key for it, for the commands of the client. */
import type { Command } from 'commander'
import { readAddress } from '../client/address.ts'
import { ClientFailure } from '../client/failures.ts'
import { readFingerprint, seeCertificate } from '../client/fingerprint.ts'
import { openPanel } from '../client/panel.ts'
import { saveProfile } from '../client/profiles.ts'
import { DEFAULT_PROFILE, profilesPath, readKey, readProfileName } from '../client/target.ts'
import { readClientEnvironment } from '../config/load.ts'
import { confirm } from './confirm.ts'
import { isTerminal, print, printError } from './output.ts'
import { printFacts } from './table.ts'

type Me = {
  user: { email: string }
  credential: { name: string | null; scopes: string[] | null; sites: number[] | null; expires_at: string | null }
}

export function addLogin(program: Command): void {
  const login = program
    .command('login')
    .description('save a panel and an API key for it; the key is asked for, or read from standard input')
    .argument('<url>', 'address of the panel, such as https://panel.example.com:3443')
    .option('--profile <name>', 'name of the profile', DEFAULT_PROFILE)
    .action(async (address: string, { profile }: { profile: string }) => {
      const environment = readClientEnvironment()
      const name = readProfileName(profile)
      const url = readAddress(address, address)
      const fingerprint = await acceptCertificate(login, url, environment.fingerprint)
      const key = readKey(await readSecret(), 'the key')
      const panel = await openPanel({ url, key, fingerprint })
      const { user, credential } = (await panel.ask<Me>('/auth/me')).data
      const path = profilesPath(environment)
      await saveProfile(path, name, { url: url.origin, key, fingerprint })
      printFacts({
        panel: url.origin,
        profile: name,
        file: path,
        user: user.email,
        key: credential.name ?? '',
        scopes: credential.scopes?.join(', ') ?? 'all',
        sites: credential.sites?.join(', ') ?? 'all',
        expires: credential.expires_at ?? 'never',
      })
      if (isTerminal())
        print("\n'ncp sites' lists the sites that this key sees; 'ncp deploy DIR --site NAME' deploys to one.")
    })
}

/** @returns the fingerprint that the panel is held to; undefined where the authorities of this machine vouch for it */
async function acceptCertificate(login: Command, url: URL, given: string | undefined): Promise<string | undefined> {
  if (url.protocol === 'http:') return undefined
  if (given !== undefined) return readFingerprint(given, 'NCP_FINGERPRINT')
  const { fingerprint, problem } = await seeCertificate(url)
  if (problem === '') return undefined
  printError(
    `No authority vouches for the certificate of ${url.origin} (${problem}). Its SHA-256 fingerprint is\n${fingerprint}`,
  )
  if (!(process.stdin.isTTY && process.stderr.isTTY)) {
    throw new ClientFailure(
      'configuration',
      'without a terminal to confirm that on, set NCP_FINGERPRINT to what is right',
    )
  }
  await confirm(login, {
    ask: "Is that what the panel says ('ncp cert show' on its machine)? The key then goes to this certificate alone.",
    yes: undefined,
  })
  return fingerprint
}

async function readSecret(): Promise<string> {
  if (!process.stdin.isTTY) return Bun.stdin.text()
  const { password } = await import('@clack/prompts')
  const answer = await password({ message: 'API key', output: process.stderr })
  return typeof answer === 'string' ? answer : ''
}
