/** The path of a site that must answer before a deployment is served. */

export const MAX_HEALTH_PATH_LENGTH = 255

/** Plain text with a query or without: nothing that a request or a configuration could take for more. */
const HEALTH_PATH = /^(?:\/[A-Za-z0-9._~-]+)*\/?(?:\?[A-Za-z0-9._~=&-]*)?$/

/** Without `.` and `..`, which a client would resolve. */
export const isHealthPath = (path: string): boolean =>
  path.startsWith('/') &&
  path.length <= MAX_HEALTH_PATH_LENGTH &&
  HEALTH_PATH.test(path) &&
  !/\/\.{1,2}(?:[/?]|$)/.test(path)

export const HEALTH_SECONDS = 5

/** Why a release is not to be served, in words for its customer; undefined for one that is. */
export type CheckHealth = (number: number, signal: AbortSignal) => Promise<string | undefined>

export function reasonOfStatus(path: string, status: number, location?: string | null): string | undefined {
  if (status >= 200 && status < 300) return undefined
  const where = location ? `, a redirect to ${location.slice(0, 200)}` : ''
  return `The health path ${path} answered ${status}${where}, and must answer 2xx; what was served before still is`
}

export const reasonOfSilence = (path: string): string =>
  `The health path ${path} did not answer within ${HEALTH_SECONDS} seconds; what was served before still is`
