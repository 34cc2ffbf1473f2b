/** Public keys as OpenSSH writes them, and what looks like one. */
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../../../../src/core/errors.ts'
import { readPublicKey } from '../../../../src/features/hosting/ssh-keys/public-key.ts'
import { newDirectory } from '../../../harness/directory.ts'

const directory = newDirectory('ncp-keys-')

/** @returns the line, and the fingerprint that OpenSSH shows */
async function generate(type: string, bits: number): Promise<[line: string, fingerprint: string]> {
  const path = join(directory, `${type}-${bits}-${Math.trunc(performance.now() * 1000)}`)
  await Bun.$`ssh-keygen -q -t ${type} -b ${bits} -N "" -C "Ada Lovelace <ada@example.com>" -f ${path}`
  const shown = await Bun.$`ssh-keygen -l -E sha256 -f ${path}.pub`.text()
  return [readFileSync(`${path}.pub`, 'utf8'), shown.split(' ')[1] ?? '']
}

function refusal(text: string): string {
  try {
    readPublicKey(text)
  } catch (error) {
    if (error instanceof AppError && error.code === 'validation_error') return error.message
    throw error
  }
  return ''
}

describe('a key', () => {
  test.each([
    ['ed25519', 256, 'ssh-ed25519'],
    ['ecdsa', 256, 'ecdsa-sha2-nistp256'],
    ['ecdsa', 384, 'ecdsa-sha2-nistp384'],
    ['ecdsa', 521, 'ecdsa-sha2-nistp521'],
    ['rsa', 2048, 'ssh-rsa'],
    ['rsa', 3072, 'ssh-rsa'],
  ])('of %s with %d bits is read, with the fingerprint that OpenSSH shows', async (type, bits, name) => {
    const [line, fingerprint] = await generate(type, bits)
    const key = readPublicKey(line)
    expect(key).toEqual({
      type: name,
      blob: line.split(' ')[1] ?? '',
      fingerprint,
      comment: 'Ada Lovelace <ada@example.com>',
    })
    expect(readPublicKey(`${key.type}\t${key.blob}`).comment).toBe('')
  })

  test('of RSA with fewer than 2048 bits is refused', async () => {
    const [line] = await generate('rsa', 1024)
    expect(refusal(line)).toBe('public_key: has 1024 bits; RSA needs at least 2048')
  })
})

const field = (bytes: Buffer) => {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}
const lineOf = (type: string, ...fields: (Buffer | string)[]) =>
  `${type} ${Buffer.concat([type, ...fields].map((one) => field(Buffer.from(one)))).toString('base64')}`

describe('what is no key', () => {
  const line = lineOf('ssh-ed25519', Buffer.alloc(32, 7))
  const [type = '', blob = ''] = line.split(' ')
  const bytes = Buffer.from(blob, 'base64')
  const withBytes = (changed: Buffer) => `${type} ${changed.toString('base64')}`
  const modulus = Buffer.concat([Buffer.from([0]), Buffer.alloc(256, 0xff)])
  const exponent = Buffer.from([1, 0, 1])
  const rsa = (...numbers: Buffer[]) => lineOf('ssh-rsa', ...numbers)

  test('differs from these in one thing', () => {
    expect([refusal(line), refusal(rsa(exponent, modulus))]).toEqual(['', ''])
  })

  test.each<[string, string]>([
    ['options before it', `command="id" ${line}`],
    ['options without a quote', `restrict ${line}`],
    ['two lines', `${line} a\n${line}`],
    ['a carriage return', `${line} a\rb`],
    ['NUL', `${line} a\0b`],
    ['an override of the direction', `${line} a\u202eb`],
    ['a long comment', `${line} ${'x'.repeat(201)}`],
    ['nothing', ''],
    ['a type alone', type],
    ['another type before it', `ssh-rsa ${blob}`],
    ['a type of the past', lineOf('ssh-dss', Buffer.alloc(32))],
    ['a certificate', lineOf('ssh-ed25519-cert-v01@openssh.com', Buffer.alloc(32))],
    ['a hardware key', lineOf('sk-ssh-ed25519@openssh.com', Buffer.alloc(32))],
    ['characters beside base64', `${type} ${blob.slice(0, -4)}-_!=`],
    ['base64 with more than its bytes', `${type} ${blob}A`],
    ['a byte too few', withBytes(bytes.subarray(0, -1))],
    ['a byte too many', withBytes(Buffer.concat([bytes, Buffer.from([0])]))],
    ['a length beyond the end', withBytes(Buffer.from(bytes).fill(0xff, 0, 4))],
    ['the type alone, in base64', lineOf('ssh-ed25519')],
    ['a short key', lineOf('ssh-ed25519', Buffer.alloc(31))],
    ['a curve that is not its type', lineOf('ecdsa-sha2-nistp256', 'nistp384', Buffer.alloc(97, 4))],
    ['a compressed point', lineOf('ecdsa-sha2-nistp256', 'nistp256', Buffer.alloc(33, 2))],
    ['an even exponent', rsa(Buffer.from([4]), modulus)],
    ['the exponent 1', rsa(Buffer.from([1]), modulus)],
    ['a negative modulus', rsa(exponent, modulus.subarray(1))],
    ['a modulus with a needless zero', rsa(exponent, Buffer.concat([Buffer.from([0]), modulus]))],
    ['an empty number', rsa(Buffer.alloc(0), modulus)],
    ['a huge modulus', rsa(exponent, Buffer.alloc(2049, 0x7f))],
  ])('%s is refused, and never repeated', (_, wrong) => {
    const message = refusal(wrong)
    expect(message).toStartWith('public_key: ')
    expect(message).not.toContain(blob)
  })

  test('a private key is refused with the advice to keep it', () => {
    const text = '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n-----END OPENSSH PRIVATE KEY-----\n'
    expect(refusal(text)).toContain('is a private key: keep it')
  })
})
