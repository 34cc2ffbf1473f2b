/** Carries connections between the network of a test node and that of the tests: a Unix socket crosses where a port cannot. */
import { connect, createServer, type Server } from 'node:net'

/** A path, or a port of 127.0.0.1. */
type End = { path: string } | { port: number }

const at = (end: End) => ('path' in end ? { path: end.path } : { host: '127.0.0.1', port: end.port })

/** Hands every connection of one end on to another. */
export function relay(from: End, to: End): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ ...at(to), allowHalfOpen: true })
    const end = () => {
      near.destroy()
      far.destroy()
    }
    near.on('error', end).on('close', end)
    far.on('error', end).on('close', end)
    near.pipe(far).pipe(near)
  })
  return new Promise((resolve, reject) => {
    server.on('error', reject).listen(at(from), () => resolve(server))
  })
}

const parse = (text: string): End => (text.startsWith('/') ? { path: text } : { port: Number(text) })

if (import.meta.main) {
  const [from = '', to = ''] = process.argv.slice(2)
  await relay(parse(from), parse(to))
  process.stdout.write('ready\n')
}
