/** The ceiling: a bare `Bun.serve` that gives every request the same bytes and headers as the panel gives. */
import { readFileSync } from 'node:fs'

const { port, status, headers, body, tls } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'))

Bun.serve({
  port,
  hostname: '127.0.0.1',
  development: false,
  ...(tls && { tls: { cert: readFileSync(tls.cert, 'utf8'), key: readFileSync(tls.key, 'utf8') } }),
  fetch: () => new Response(body, { status, headers }),
})
