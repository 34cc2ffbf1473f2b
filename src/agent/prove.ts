/** Asks the web server itself which generation a name leads to, where only root may ask: a link is not yet what is served. */
import { whileAway } from './away.ts'
import type { NodeLayout } from './layout.ts'

const TIMEOUT_MS = 5000
const MAX_LENGTH = 100

/** @returns the name of the generation @throws Error where the web server does not answer, or the name leads nowhere */
export type Prove = (name: string) => Promise<string>

export function createProve({ probeSocket }: Pick<NodeLayout, 'probeSocket'>): Prove {
  async function ask(name: string): Promise<string> {
    // Through the socket, whatever proxy the environment names.
    const response = await fetch(`http://${name}/`, {
      unix: probeSocket,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      redirect: 'manual',
    })
    const text = await response.text()
    if (response.status === 200 && text.length <= MAX_LENGTH) return text
    throw new Error(`the web server answers ${name} with ${response.status}`)
  }

  return (name) => whileAway(probeSocket, () => ask(name))
}
