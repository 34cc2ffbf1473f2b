/** Reads the configuration file, TOML, and keeps the line of every key for error messages. */
import { readRegularFile } from '../system/regular-file.ts'

export type FileEntry = {
  value: unknown
  line: number
  /** `[server]`: no setting is one. */
  isTable?: boolean
}

export type ConfigFile = {
  path: string
  /** By the key as it is written; a table is one entry. */
  entries: ReadonlyMap<string, FileEntry>
  /** What makes it no TOML; then there are no entries. */
  problem?: string
}

/** @throws Error of the system when it cannot be read */
export async function readConfigFile(path: string): Promise<ConfigFile> {
  const source = readRegularFile(path)
  // Loaded where there is a file: it would cost every other start its time.
  const { getStaticTOMLValue, ParseError, parseTOML } = await import('toml-eslint-parser')
  const entries = new Map<string, FileEntry>()
  try {
    for (const node of parseTOML(source).body[0].body) {
      const key = node.key.keys.map((part) => (part.type === 'TOMLBare' ? part.name : part.value)).join('.')
      const { line } = node.loc.start
      if (node.type === 'TOMLTable') entries.set(key, { value: undefined, line, isTable: true })
      else entries.set(key, { value: getStaticTOMLValue(node.value), line })
    }
  } catch (error) {
    if (!(error instanceof ParseError)) throw error
    return { path, entries: new Map(), problem: `${path}:${error.lineNumber}: is not valid TOML (${error.message})` }
  }
  return { path, entries }
}
