/** Writes the reference pages that are made from the source: `bun docs/reference.ts`. A test holds them equal. */
import { join } from 'node:path'
import { schema } from '../src/config/schema.ts'
import { fileKeyOf, type Setting } from '../src/config/setting.ts'

/** The pages by their path in the repository. */
export const pages: Record<string, () => string> = {
  'docs/operations/settings.md': settings,
}

function settings(): string {
  const rows = (Object.values(schema) as Setting<unknown>[]).map((setting) => {
    const { env, flag, type, default: value, secret, help } = setting
    const key = fileKeyOf(setting) + (secret ? '_file' : '')
    const names = [...(secret ? [`${env}_FILE`] : []), ...(flag ? [flag] : [])].map((name) => `, \`${name}\``)
    return `| \`${key}\` | \`${env}\`${names.join('')} | ${type} | ${shown(value)} | ${help} |`
  })
  return `# Settings

Made from \`src/config/schema.ts\`. How they work together is in [configuration](configuration.md).

| key in the file | variable, flag | type | default | |
|---|---|---|---|---|
${rows.join('\n')}
`
}

function shown(value: unknown): string {
  return value === undefined || `${value}` === '' ? '' : `\`${value}\``
}

if (import.meta.main) {
  for (const [path, text] of Object.entries(pages)) await Bun.write(join(import.meta.dir, '..', path), text())
}
