/** The sample site of `examples/site/`, as an archive to deploy. */
import { pack } from 'tar-stream'
import notFound from '../../../../examples/site/404.html' with { type: 'text' }
import index from '../../../../examples/site/index.html' with { type: 'text' }

/** Text, although the runtime's types take every import of HTML for a page to bundle. */
const FILES = { 'index.html': index, '404.html': notFound } as unknown as Record<string, string>

/** The same bytes each time. */
const MODIFIED = new Date(0)

/** @returns a `.tar.gz` */
export async function sampleArchive(): Promise<Uint8Array> {
  const tar = pack()
  for (const [name, content] of Object.entries(FILES)) tar.entry({ name, mtime: MODIFIED }, content)
  tar.finalize()
  const chunks = (await Array.fromAsync<unknown>(tar)) as Buffer[]
  return Bun.gzipSync(Buffer.concat(chunks))
}
