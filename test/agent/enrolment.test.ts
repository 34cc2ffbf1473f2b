/** The file that says which panel a node belongs to. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmodSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { enrolmentOf, readEnrolment, writeEnrolment } from '../../src/agent/enrolment.ts'
import { nodeLayout } from '../../src/agent/layout.ts'
import { newDirectory } from '../harness/directory.ts'

const root = newDirectory('ncp-enrolment-')
const layout = nodeLayout(root)

beforeAll(() => mkdirSync(layout.settings, { recursive: true }))
afterAll(() => rmSync(root, { recursive: true }))

test('what was written is read, and nobody else can read it', () => {
  for (const enrolment of [
    { socket: '/var/lib/ncp/node.sock' },
    { url: 'https://panel.example.com:3443', ca: undefined },
    { url: 'https://panel.example.com', ca: '-----BEGIN CERTIFICATE-----\n…' },
  ]) {
    writeEnrolment(layout, enrolment)
    expect(readEnrolment(layout)).toEqual(enrolment)
    expect(statSync(layout.enrolment).mode & 0o777).toBe(0o600)
  }
})

test('a panel is a path of this machine or an HTTPS origin, and nothing else', () => {
  expect(enrolmentOf('https://panel.example.com/', undefined)).toEqual({
    url: 'https://panel.example.com',
    ca: undefined,
  })
  for (const panel of [
    '',
    'node.sock',
    'panel.example.com',
    'http://panel.example.com',
    'https://panel.example.com/api',
    'https://a@panel.example.com',
    'ftp://x',
    'https://',
  ]) {
    expect([panel, enrolmentOf(panel, undefined)]).toEqual([panel, undefined])
  }
})

test('what cannot be read says what to do', () => {
  rmSync(layout.enrolment, { force: true })
  expect(() => readEnrolment(layout)).toThrow("this node belongs to no panel: run 'ncp node setup --panel'")
  for (const text of [
    '',
    '{',
    '{}',
    'null',
    '[]',
    '{"panel": 1}',
    '{"panel": "http://x"}',
    '{"panel": "https://x", "ca": 1}',
  ]) {
    writeFileSync(layout.enrolment, text, { mode: 0o600 })
    chmodSync(layout.enrolment, 0o600)
    expect(() => readEnrolment(layout)).toThrow('names no panel')
  }
  writeEnrolment(layout, { socket: '/x' })
  chmodSync(layout.enrolment, 0o644)
  expect(() => readEnrolment(layout)).toThrow('others can read')
})
