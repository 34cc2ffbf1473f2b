/** Uploads that go wrong: refused as early as can be, answered in words, and nothing is left behind. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { createUploadRoom } from '../../../../src/features/hosting/deployments/room.ts'
import { archiveOf, smallArchive } from '../../../harness/archives.ts'
import { storedRows } from '../../../harness/database.ts'
import { sendRaw } from '../../../harness/raw.ts'
import { until } from '../../../harness/until.ts'
import { useDeployments } from './world.ts'

const MEBIBYTE = 1024 * 1024
const KIBIBYTE = 1024

const { panel, newSite, upload, list, onDisk, begin } = await useDeployments()
const place = await newSite()

/** Of the one upload that is under way. */
function arrivedBytes(): number {
  const name = onDisk().find((name) => name.startsWith('.upload-'))
  return name === undefined ? 0 : statSync(join(panel.data, 'sites', 'archives', name)).size
}

let before: ReturnType<typeof stored>
const stored = () => [storedRows(panel, { except: ['idempotent_answers'] }).deployments, onDisk()]
const isUploading = () => onDisk().some((name) => name.startsWith('.upload-'))
beforeEach(() => {
  before = stored()
})
afterEach(async () => {
  await panel.services.deployments.idle()
  expect(stored()).toEqual(before)
})

/** Bytes that no compression makes smaller, as an archive. */
const largeArchive = (bytes: number) =>
  archiveOf({ 'a.bin': crypto.getRandomValues(new Uint8Array(bytes)) }, { gzip: false })

describe('a body', () => {
  test.each<[string, Bun.BodyInit]>([
    ['of text', 'hello'],
    ['of JSON', '{"domain":"a.example"}'],
    ['of zeros, an archive of nothing', new Uint8Array(10_240)],
    ['of a 7-Zip archive', new Uint8Array([0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c, 0, 4])],
    ['of another compression', Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 1, 2, 3])],
    ['of one byte', new Uint8Array([0x1f])],
    ['of a part of a zip', new Uint8Array([0x50, 0x4b, 7, 8, 0x50, 0x4b, 3, 4])],
    ['that begins like gzip, by another method', new Uint8Array([0x1f, 0x8b, 0x07, 0, 0, 0, 0, 0])],
    ['of a page that is longer than a header', `<!doctype html>${'x'.repeat(5000)}`],
    ['of 20 MiB of noise', Buffer.alloc(20 * MEBIBYTE, 'noise')],
  ])('%s is 422', async (_, rawBody) => {
    const answer = await upload(place, { rawBody })
    expect([answer.status, answer.error, answer.message]).toEqual([
      422,
      'validation error',
      'body: is not a .tar.gz, .tar or .zip archive',
    ])
  })

  test('of no bytes is 422', async () => {
    const connection = await begin(place, 0)
    const { status, body } = await connection.answer()
    expect([status, JSON.parse(body).message]).toEqual([422, 'body: is not a .tar.gz, .tar or .zip archive'])
    connection.close()
  })

  test.each(['Transfer-Encoding: chunked\r\n', ''])('without its length is 411: %j', async (header) => {
    const head = `POST /api/v1${place.path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${place.owner.token}\r\n`
    const chunk = header === '' ? '' : '3\r\n\x1f\x8b\x08\r\n0\r\n\r\n'
    const bytes = Buffer.from(`${head}${header}\r\n${chunk}`, 'latin1')
    const answer = await sendRaw(panel.origin, bytes, /"message":/)
    expect(answer).toStartWith('HTTP/1.1 411 Length Required\r\n')
    expect(answer).toContain('"error":"length required"')
  })

  test('that announces more than the limit is 413 at once', async () => {
    for (const [length, message] of [
      [512 * MEBIBYTE + 1, 'An archive of this subscription must be at most 536870912 bytes'],
      [10 ** 12, 'The request body must be at most 4294967296 bytes'],
    ] as const) {
      const connection = await begin(place, length)
      const { status, head, body } = await connection.answer()
      expect([status, JSON.parse(body).message]).toEqual([413, message])
      expect(head).toMatch(/^connection: close$/im)
      connection.close()
    }
  })

  test('that is cut short leaves nothing', async () => {
    for (const sent of [0, 1, 5000]) {
      const connection = await begin(place, 10_240)
      connection.write(largeArchive(4096).subarray(0, sent))
      await until('the upload', isUploading)
      connection.close()
      await until('its end', () => !isUploading())
    }
  })
})

describe('a digest', () => {
  const sendWith = (digest: string) => upload(place, { headers: { 'x-content-sha256': digest } })

  test('of something else is 422', async () => {
    const answer = await sendWith('0'.repeat(64))
    expect([answer.status, answer.message]).toEqual([
      422,
      'X-Content-SHA256: is not the digest of the body that arrived',
    ])
  })

  test.each(['', 'abc', `${'0'.repeat(63)}g`, '0'.repeat(65)])('%j is 422 before the body is read', async (digest) => {
    const answer = await sendWith(digest)
    expect([answer.status, answer.message]).toEqual([422, 'X-Content-SHA256: must be 64 hexadecimal digits'])
  })
})

test('a body that is longer than announced is taken as far as it was announced', async () => {
  const other = await newSite()
  const archive = smallArchive()
  const connection = await begin(other, archive.length)
  // What comes after it is no request, and what it gets for an answer is the runtime's affair.
  connection.write(Buffer.concat([archive, Buffer.from('and more\r\n\r\n')]))
  const [deployment] = await until('the deployment', async () => {
    const found = await list(other)
    return found.length > 0 && found
  })
  connection.close()
  expect(deployment).toMatchObject({ sha256: Bun.SHA256.hash(archive, 'hex'), archive_bytes: archive.length })
  before = stored()
})

test('a digest in capitals is taken', async () => {
  const other = await newSite()
  const digest = Bun.SHA256.hash(smallArchive(), 'hex').toUpperCase()
  expect((await upload(other, { headers: { 'x-content-sha256': digest } })).status).toBe(201)
  before = stored()
})

describe('a slow sender', () => {
  test('is cut off where less than 64 KiB arrive in 30 seconds, silent or not', async () => {
    for (const sendsOn of [true, false]) {
      const connection = await begin(place, MEBIBYTE)
      const archive = largeArchive(32 * KIBIBYTE)
      let answered = false
      const answer = connection.answer().finally(() => {
        answered = true
      })
      connection.write(archive)
      await until('what was sent', () => arrivedBytes() === archive.length)
      await until('the refusal', () => {
        panel.clock.advance(31)
        if (sendsOn) connection.write('x')
        return answered
      })
      const { status, head, body } = await answer
      expect([status, JSON.parse(body).message]).toEqual([
        408,
        'The body came too slowly: it takes at least 64 KiB in 30 seconds',
      ])
      expect(head).toMatch(/^connection: close$/im)
      connection.close()
    }
  })

  test('may take minutes where more arrives', async () => {
    const other = await newSite()
    const archive = largeArchive(MEBIBYTE)
    const connection = await begin(other, archive.length)
    const answer = connection.answer()
    for (let at = 0; at < archive.length; at += 100 * KIBIBYTE) {
      const sent = Math.min(at + 100 * KIBIBYTE, archive.length)
      connection.write(archive.subarray(at, sent))
      if (sent === archive.length) break
      await until('what was sent', () => arrivedBytes() === sent)
      panel.clock.advance(20)
    }
    expect((await answer).status).toBe(201)
    connection.close()
    before = stored()
  })
})

describe('uploads at a time', () => {
  test('are two for a subscription: a third is 429, and others go on', async () => {
    const other = await newSite()
    const connections = [await begin(place, MEBIBYTE), await begin(place, MEBIBYTE)]
    await until('both', () => onDisk().filter((name) => name.startsWith('.upload-')).length === 2)
    const third = await upload(place)
    expect([third.status, third.message]).toEqual([
      429,
      'A subscription may have 2 uploads at a time; try again when one has ended',
    ])
    expect(third.headers.get('retry-after')).toBe('30')
    expect((await upload(other)).status).toBe(201)
    for (const connection of connections) connection.close()
    await panel.services.deployments.idle()
    before = stored()
  })

  test('are a few in all, and stop while the disk would not hold them', async () => {
    let freeBytes = 5000
    const limits = { uploads: 2, uploadsPerSubscription: 1, freeBytes: 1000 }
    const room = createUploadRoom({ limits, readFreeBytes: async () => freeBytes })
    const held = Promise.withResolvers<void>()
    const hold = () => held.promise
    const first = room.within(1, 1000, hold)
    const full = {
      code: 'unavailable',
      message: 'The disk of this server is too full for this archive; tell its operator',
    }
    await expect(room.within(2, 3000, hold)).rejects.toMatchObject(full)
    const second = room.within(2, 2000, hold)
    await expect(room.within(3, 1, hold)).rejects.toMatchObject({
      code: 'unavailable',
      message: 'This server takes no more uploads at a time; try again later',
      headers: { 'retry-after': '30' },
    })
    await expect(room.within(1, 1, hold)).rejects.toMatchObject({ code: 'rate_limited' })
    held.resolve()
    await Promise.all([first, second])
    freeBytes = 2099
    await expect(room.within(1, 1000, hold)).rejects.toMatchObject(full)
    freeBytes = 2100
    await room.within(1, 1000, hold)
  })
})

describe('while an archive arrives', () => {
  test('its sender loses the right, and nothing is kept', async () => {
    const { data: key } = await panel.post<{ id: number; key: string }>('/auth/api-keys', place.owner.token, {
      name: 'CI',
    })
    const archive = largeArchive(MEBIBYTE)
    const connection = await begin({ ...place, owner: { ...place.owner, token: key.key } }, archive.length)
    connection.write(archive.subarray(0, 1000))
    await until('the upload', isUploading)
    await panel.delete(`/auth/api-keys/${key.id}`, place.owner.token)
    connection.write(archive.subarray(1000))
    expect((await connection.answer()).status).toBe(401)
    connection.close()
  })

  test('the subscription is suspended, and nothing is kept', async () => {
    const admin = await panel.admin()
    const archive = largeArchive(MEBIBYTE)
    const connection = await begin(place, archive.length)
    connection.write(archive.subarray(0, 1000))
    await until('the upload', isUploading)
    await panel.patch(`/admin/subscriptions/${place.subscription}`, admin, { status: 'suspended' })
    connection.write(archive.subarray(1000))
    const { status, body } = await connection.answer()
    expect([status, JSON.parse(body).message]).toEqual([409, 'The subscription is suspended'])
    connection.close()
    await panel.patch(`/admin/subscriptions/${place.subscription}`, admin, { status: 'active' })
  })

  test('other requests are served', async () => {
    const connection = await begin(place, 64 * MEBIBYTE)
    connection.write(largeArchive(MEBIBYTE))
    await until('the upload', isUploading)
    for (let i = 0; i < 20; i++) expect((await panel.get('/sites', place.owner.token)).status).toBe(200)
    connection.close()
    await until('its end', () => !isUploading())
  })
})

test('every other route still refuses a large body', async () => {
  const answer = await panel.send('POST', '/sites', { as: place.owner.token, rawBody: 'x'.repeat(MEBIBYTE) })
  expect([answer.status, answer.message]).toEqual([413, 'The request body must be at most 65536 bytes'])
})

test('a large upload without a right to it is refused before its body is read', async () => {
  const stranger = await newSite()
  for (const [as, expected] of [
    [undefined, 401],
    [stranger.owner.token, 403],
  ] as const) {
    const options = { rawBody: new Uint8Array(20 * MEBIBYTE), ...(as !== undefined && { as }) }
    expect((await panel.send('POST', place.path, options)).status).toBe(expected)
  }
})
