/** Whatever a panel sends as keys for SFTP: only lines that are keys get into the file that sshd reads. */
import { describe, expect, test } from 'bun:test'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSshKeys } from '../../src/agent/ssh-keys.ts'
import { newDirectory } from '../harness/directory.ts'

const directory = newDirectory('ncp-ssh-keys-')
const KEY = `ssh-ed25519 ${'A'.repeat(68)}`
const file = join(directory, 'ncp-s12')
const keys = createSshKeys({ sshKeys: directory })
const ensure = (sshKeys: unknown) => keys.ensure({ id: 12, state: 'active', sites: [], sshKeys: sshKeys as string[] })

test('what our panel sends is a key', () => {
  expect(() => ensure([KEY])).not.toThrow('that are none')
})

describe('among keys, nobody may use SFTP for', () => {
  test.each([
    ...['\n', '\r', '\0', ' ', ';', '}', '"', "'", '..', '#', ','].map((text) => `${KEY}${text}`),
    ...[`\n${KEY}`, ` ${KEY}`, `${KEY}\n${KEY}`, `${KEY} comment`, `command="id" ${KEY}`, `cert-authority ${KEY}`],
    ...['', 'ssh-ed25519', 'ssh-ed25519 ', `ssh-dss ${'A'.repeat(68)}`, `SSH-ED25519 ${'A'.repeat(68)}`],
    ...[`ssh-ed25519  ${'A'.repeat(68)}`, `ssh-ed25519\t${'A'.repeat(68)}`, `ssh-ed25519 ${'A'.repeat(68)}===`],
    `ssh-ed25519 ${'A'.repeat(4097)}`,
    ...[null, undefined, 1, true, {}, [[KEY]]],
  ])('%j', (wrong) => {
    writeFileSync(file, 'what was there before')
    expect(() => ensure([KEY, wrong])).toThrow('that are none')
    expect(existsSync(file)).toBeFalse()
  })

  test('too many of them', () => {
    writeFileSync(file, 'what was there before')
    expect(() => ensure(Array(101).fill(KEY))).toThrow('that are none')
    expect(existsSync(file)).toBeFalse()
  })
})

test.each([0, -1, 1.5, '12', '../12', '12\n', null, undefined, 2 ** 53])('%j is no subscription', (id) => {
  expect(() => keys.ensure({ id: id as number, state: 'active', sites: [], sshKeys: [KEY] })).toThrow()
  expect(() => keys.ensure({ id: id as number, state: 'suspended', sites: [] })).toThrow()
})
