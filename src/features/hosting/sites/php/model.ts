/** The schemas of what a site sets of PHP. */
import type { TSchema } from 'elysia'
import { t } from 'elysia'
import { choice, closed, flag, integer, integerOut, list, text } from '../../../../http/schema.ts'
import {
  isPlainDirectory,
  MAX_DIRECTORY_LENGTH,
  MAX_NO_PHP_IN,
  PHP_DIRECTIVES,
  type PhpDirective,
  type PhpSettings,
  takes,
} from '../../../../node/php.ts'

const DESCRIPTION =
  'Directives of PHP, under the names and with the sizes that php.ini has for them, such as `{"memory_limit": "128M"}`, within the limits of the subscription. They replace all that were set'

function schemaIn(directive: PhpDirective): TSchema {
  switch (directive.type) {
    case 'flag':
      return flag()
    case 'integer': {
      const { minimum, maximum, example } = directive
      return integer({ minimum, maximum, example })
    }
    case 'size': {
      const { minimum, maximum, example } = directive
      return text({
        maxLength: `${maximum}M`.length,
        examples: [example],
        rule: `must be a size from ${minimum}M to ${maximum}M, such as ${example}`,
        obeys: (value) => takes(directive, value),
      })
    }
    case 'choice':
      return choice(directive.values)
    case 'text': {
      const { maxLength, rule, example } = directive
      return text({ maxLength, rule, examples: [example], obeys: (value) => takes(directive, value) })
    }
  }
}

function schemaOut(directive: PhpDirective): TSchema {
  if (directive.type === 'flag') return t.Boolean()
  if (directive.type === 'integer') return integerOut({ minimum: directive.minimum, examples: [directive.example] })
  return t.String({ examples: [directive.type === 'choice' ? directive.values[0] : directive.example] })
}

const fields = (schemaOf: (directive: PhpDirective) => TSchema) =>
  Object.fromEntries(
    Object.entries(PHP_DIRECTIVES).map(([name, directive]) => [name, t.Optional(schemaOf(directive))] as const),
  )

export const phpSettingsIn = () =>
  t.Unsafe<PhpSettings>({ ...closed(fields(schemaIn)), description: DESCRIPTION, examples: [{}] })

export const phpSettingsOut = () =>
  t.Unsafe<PhpSettings>({
    ...t.Object(fields(schemaOut), { additionalProperties: false }),
    description: 'What the site sets; the rest is as the server has it',
    examples: [{ memory_limit: '128M' }],
  })

export const noPhpIn = () =>
  list(
    text({
      minLength: 1,
      maxLength: MAX_DIRECTORY_LENGTH,
      examples: ['wp-content/uploads'],
      rule: 'must be a relative directory, such as wp-content/uploads',
      obeys: isPlainDirectory,
    }),
    {
      maxItems: MAX_NO_PHP_IN,
      examples: [[]],
      description:
        'Directories below what is served, such as wp-content/uploads, in which no PHP is executed: a request for it is 404',
    },
  )
