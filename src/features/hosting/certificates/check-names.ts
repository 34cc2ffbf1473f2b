/** Asks every address of a name for a token first: an authority counts each failure, and its words are not for customers. */
import { isIPv6 } from 'node:net'
import { newToken } from '../../../crypto/secret.ts'
import type { Challenges } from './challenges.ts'
import type { CertifiedSite } from './site.ts'

/** See `http/outbound.ts`. */
export type Reach = {
  getFromEach(target: { host: string; port: number; path: string; mayBeHere: boolean }): Promise<Reached[]>
  /** Addresses of this machine that names can lead to. */
  reachableHere(): string[]
}

type Reached = { address: string } & ({ status: number; body: string } | { failure: string })

export type CheckNamesOptions = {
  challenges: Challenges
  reach: Reach
  /** Where an authority asks: 80. */
  port: number
}

export type CheckNames = ReturnType<typeof createCheckNames>

/** Names asked for at a time. */
const SIDE_BY_SIDE = 5

export function createCheckNames({ challenges, reach, port }: CheckNamesOptions) {
  /** @param here the addresses that its site has; none where they are not known */
  async function check(
    host: string,
    here: readonly string[],
    token: string,
    answer: string,
  ): Promise<string | undefined> {
    const path = `/.well-known/acme-challenge/${token}`
    let reached: Reached[]
    try {
      // Its purpose is to lead here.
      reached = await reach.getFromEach({ host, port, path, mayBeHere: true })
    } catch (error) {
      return `${(error as Error).message}; ${advice(here, false)}`
    }
    if (reached.length === 0) return `${host} has no A or AAAA record; ${advice(here, false)}`
    const wrong = reached.find((one) => 'failure' in one || one.status !== 200 || one.body.trim() !== answer)
    return wrong && `${host} leads to ${wrong.address}, ${fault(here, wrong)}`
  }

  function fault(here: readonly string[], wrong: Reached): string {
    const isHere = here.includes(wrong.address)
    if ('failure' in wrong) {
      return isHere
        ? `this server, but on port ${port} ${wrong.failure}; ask your provider`
        : `but ${wrong.failure}; ${advice(here, isIPv6(wrong.address))}`
    }
    if (wrong.status >= 300 && wrong.status < 400) {
      return 'which redirects to another address; let it answer /.well-known/acme-challenge/ over HTTP without a redirect'
    }
    return isHere
      ? `this server, but something else answers on port ${port} there; ask your provider`
      : `where another server answers; ${advice(here, isIPv6(wrong.address))}`
  }

  /** @param isV6 whether the record that is wrong is an AAAA record */
  function advice(here: readonly string[], isV6: boolean): string {
    const address = here.find((one) => isIPv6(one) === isV6)
    if (address !== undefined) return `set its ${isV6 ? 'AAAA' : 'A'} record to ${address}`
    return isV6 && here.length > 0 ? 'remove its AAAA record' : 'let its A record lead to this server'
  }

  /**
   * @returns by name, why it does not lead to the node of its site, in words for its customer; undefined if it does
   * @throws SilentNodeError
   */
  return async function checkNames(
    site: CertifiedSite,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<Map<string, string | undefined>> {
    const [token, answer] = [newToken(), newToken()]
    // Where another machine can be reached is not known here.
    const here = site.nodeId === null ? reach.reachableHere() : []
    const retract = await challenges.publish(site, token, answer, signal)
    const results = new Map<string, string | undefined>()
    let next = 0
    const work = async () => {
      for (let name = names[next++]; name !== undefined; name = names[next++]) {
        results.set(name, await check(name, here, token, answer))
      }
    }
    try {
      await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work))
    } finally {
      await retract()
    }
    return results
  }
}
