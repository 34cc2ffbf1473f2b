/** Uploads and their connection: what the listener is told is about the request that it knows. */
import { afterAll, expect, test } from 'bun:test'
import { createApp } from '../../src/app.ts'
import { listen } from '../../src/http/listen.ts'
import { smallArchive } from '../harness/archives.ts'
import { openConnection } from '../harness/connection.ts'
import { requireUploadRoom } from '../harness/directory.ts'
import { usePanel } from '../harness/panel.ts'

const panel = await usePanel({ sitesPort: 8080 })
requireUploadRoom(panel.data)
const { token, id } = await panel.customer()
await panel.subscription(id)

// A listener of its own, which shows what it is told.
const told: { isKnown: boolean; seconds: number }[] = []
const app = createApp(
  panel.services,
  (request) => server.requestIP(request)?.address,
  // It has no address for a request that is not its own, and cannot find its connection either.
  (request, seconds) => told.push({ isKnown: server.requestIP(request) !== null, seconds }),
)
const server = listen(app.fetch, { host: '127.0.0.1', port: 0, tls: undefined })
afterAll(() => server.stop(true))

// The gate makes another request for a host as short as these.
test.each(['localhost', '127.0.0.1:3443', 'abc', 'ncp', 'a'])(
  'an upload to %s may be silent for longer than other requests, and the connection may not afterwards',
  async (host) => {
    const domain = `upload-${host.replace(/\W/g, '-')}.example`
    const site = (await panel.post<{ id: number }>('/sites', token, { domain })).data.id
    told.length = 0
    const connection = await openConnection(Number(server.port))
    const archive = smallArchive()
    const head = [
      `POST /api/v1/sites/${site}/deployments HTTP/1.1`,
      `Host: ${host}`,
      `Authorization: Bearer ${token}`,
      `Content-Length: ${archive.length}`,
    ]
    const answer = connection.answer()
    connection.write(`${head.join('\r\n')}\r\n\r\n`)
    connection.write(archive)
    expect((await answer).status).toBe(201)
    connection.close()
    expect(told).toEqual([
      { isKnown: true, seconds: 60 },
      { isKnown: true, seconds: 15 },
    ])
  },
)
