/** Writes the reference pages that are made from the source: `bun docs/reference.ts`. A test holds them equal. */
import { join } from 'node:path'
import { schema } from '../src/config/schema.ts'
import { fileKeyOf, type Setting } from '../src/config/setting.ts'
import { PHP_DIRECTIVES, type PhpDirective } from '../src/node/php.ts'

/** The pages by their path in the repository. */
export const pages: Record<string, () => string> = {
  'docs/operations/settings.md': settings,
  'docs/php-directives.md': phpDirectives,
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

function phpDirectives(): string {
  const rows = Object.entries(PHP_DIRECTIVES).map(([name, directive]) => `| \`${name}\` | ${takenBy(directive)} |`)
  return `# PHP directives of a site

Made from \`src/node/php.ts\`. What they are for is in [PHP](php.md), and in the manual of PHP.

| in \`php_settings\` | takes |
|---|---|
${rows.join('\n')}
`
}

function takenBy(directive: PhpDirective): string {
  switch (directive.type) {
    case 'flag':
      return '`true` or `false`'
    case 'integer':
      return `an integer from ${directive.minimum} to ${directive.maximum}`
    case 'size':
      return `a size from \`"${directive.minimum}M"\` to \`"${directive.maximum}M"\``
    case 'choice':
      return directive.values.map((value) => `\`"${value}"\``).join(', ')
    case 'text':
      return `${directive.rule.replace('must be ', '')}: \`"${directive.example}"\``
  }
}

function shown(value: unknown): string {
  return value === undefined || `${value}` === '' ? '' : `\`${value}\``
}

if (import.meta.main) {
  for (const [path, text] of Object.entries(pages)) await Bun.write(join(import.meta.dir, '..', path), text())
}
