/** The places that can give a setting its value: a flag, a variable, the configuration file, a secret's own file. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../core/error-code.ts'
import { requirePrivate } from '../system/private-file.ts'
import { readRegularFile } from '../system/regular-file.ts'
import type { ConfigFile } from './file.ts'
import { nameOf } from './labels.ts'
import { fileKeyOf, type Setting } from './setting.ts'

export type Environment = Record<string, string | undefined>

export type Given = {
  /** The flag, the variable, or the file with its line. */
  origin: string
  /** The origin, and the key where the origin doesn't name it: what a complaint begins with. */
  label: string
  /** In the configuration file. */
  line?: number
  /** @throws Error that says what is wrong with it */
  read(): string
}

/** All places that give a setting a value, the one that counts first. */
export function placesOf(
  setting: Setting<unknown>,
  flagValue: string | boolean | undefined,
  environment: Environment,
  file: ConfigFile | undefined,
): Given[] {
  const places = setting.secret
    ? secret(setting, environment, file)
    : [flag(setting, flagValue), variable(setting, environment), entry(setting, file)]
  return places.filter((place) => place !== undefined)
}

function flag(setting: Setting<unknown>, value: string | boolean | undefined): Given | undefined {
  return value === undefined ? undefined : named(nameOf(setting), () => `${value}`)
}

function variable({ env }: Setting<unknown>, environment: Environment): Given | undefined {
  const value = environment[env]
  return value === undefined ? undefined : named(env, () => value)
}

function entry(setting: Setting<unknown>, file: ConfigFile | undefined): Given | undefined {
  return written(file, fileKeyOf(setting), (value) => textOf(value, setting.type))
}

/** A secret stands in its variable, or in a file that a variable, the configuration file or systemd names. */
function secret(setting: Setting<unknown>, environment: Environment, file?: ConfigFile): (Given | undefined)[] {
  const key = fileKeyOf(setting)
  const pathVariable = `${setting.env}_FILE`
  const path = environment[pathVariable]
  const directory = environment.CREDENTIALS_DIRECTORY
  const credential = directory === undefined ? undefined : join(directory, key)
  return [
    variable(setting, environment),
    path === undefined ? undefined : named(pathVariable, () => readPrivateSecret(path)),
    written(file, `${key}_file`, (value) => readPrivateSecret(textOf(value, 'text'))),
    credential !== undefined && existsSync(credential)
      ? named(`credential ${key}`, () => readSecret(credential))
      : undefined,
  ]
}

function named(origin: string, read: () => string): Given {
  return { origin, label: origin, read }
}

function written(file: ConfigFile | undefined, key: string, read: (value: unknown) => string): Given | undefined {
  const entry = file?.entries.get(key)
  if (!file || !entry) return undefined
  const origin = `${file.path}:${entry.line}`
  return { origin, label: `${origin}: ${key}`, line: entry.line, read: () => read(entry.value) }
}

/** One that the operator keeps, and not systemd. */
function readPrivateSecret(path: string): string {
  const secret = readSecret(path)
  requirePrivate(path)
  return secret
}

/** Without the line end that every editor leaves. */
function readSecret(path: string): string {
  try {
    return readRegularFile(path).replace(/\r?\n$/, '')
  } catch (error) {
    throw new Error(unreadable(path, error))
  }
}

/** Why a file cannot be read, in one line. */
export function unreadable(path: string, error: unknown): string {
  const code = codeOf(error)
  return code === undefined ? (error as Error).message : `cannot read ${path} (${code})`
}

/** @throws Error for a value of another type: `"8080"` is no number and `"false"` no truth value */
function textOf(value: unknown, type: Setting<unknown>['type']): string {
  switch (type) {
    case 'number':
      if (typeof value === 'number') return `${value}`
      throw new Error('must be a number, without quotes')
    case 'boolean':
      if (typeof value === 'boolean') return `${value}`
      throw new Error('must be true or false, without quotes')
    case 'list':
      if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(',')
      throw new Error('must be an array of strings, as in ["one", "two"]')
    case 'text':
      if (typeof value === 'string') return value
      throw new Error('must be a string, in quotes')
  }
}
