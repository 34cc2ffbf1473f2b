/** The error codes of the database and the system. */

/** The code of what caused an error, as of one that Drizzle has wrapped, or else its own. */
export function codeOf(error: unknown): string | undefined {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  const { code } = (cause ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : undefined
}

/** What `work` gives; undefined where what it is about does not exist. @throws whatever else `work` throws */
export async function unlessMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}
