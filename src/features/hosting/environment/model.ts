/** The schemas of `/sites/:id/environment`. */
import { t } from 'elysia'
import { AppError } from '../../../core/errors.ts'
import { formatTimestamp } from '../../../core/timestamp.ts'
import { closed, nullableIn, text, timestampOut } from '../../../http/schema.ts'
import {
  isReserved,
  isVariableName,
  isVariableValue,
  MAX_ENVIRONMENT_BYTES,
  MAX_VALUE_BYTES,
  MAX_VARIABLES,
} from '../../../node/environment.ts'
import type { ShownVariable, WantedVariable } from './environment.ts'

/** Of a body: JSON takes six characters for some of the bytes. */
export const BODY_LIMITS = { maxBytes: 8 * MAX_ENVIRONMENT_BYTES, maxItems: MAX_VARIABLES }

const variableIn = closed({
  name: text({
    minLength: 1,
    maxLength: 64,
    examples: ['DB_PASSWORD'],
    description: 'None of `LD_*`, `PHP_*`, `PATH`, `HOME`, `USER` and `FPM_SOCKETS`',
    rule: (value) =>
      isVariableName(value)
        ? "is the server's own; choose another name"
        : 'must be 1 to 64 capital letters, digits and underscores, and begin with no digit',
    obeys: (value) => isVariableName(value) && !isReserved(value),
  }),
  value: nullableIn(
    text({
      maxLength: MAX_VALUE_BYTES,
      rule: `must be at most ${MAX_VALUE_BYTES} bytes of text without NUL`,
      obeys: isVariableValue,
    }),
    { examples: ['correct horse'], description: 'Null keeps the value that the variable has' },
  ),
})

export const PutEnvironment = closed({
  variables: t.Array(variableIn, {
    maxItems: MAX_VARIABLES,
    examples: [[{ name: 'DB_PASSWORD', value: 'correct horse' }]],
    description: 'All that the site is to have. Those that are not named are deleted.',
  }),
})

export const EnvironmentModel = t.Object(
  {
    variables: t.Array(
      t.Object(
        {
          name: t.String({ examples: ['DB_PASSWORD'] }),
          fingerprint: t.String({
            examples: ['9f86d081884c7d65'],
            description: 'The same for the same value of this variable; nobody can compute it from a guess',
          }),
          updated_at: timestampOut(),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false, title: 'Environment', description: 'Values are never shown' },
)

export const toEnvironment = (variables: readonly ShownVariable[]) => ({
  variables: variables.map(({ name, fingerprint, updatedAt }) => ({
    name,
    fingerprint,
    updated_at: formatTimestamp(updatedAt),
  })),
})

/** @throws AppError `validation_error` for a name that comes twice */
export function toVariables({ variables }: typeof PutEnvironment.static): WantedVariable[] {
  const names = new Set<string>()
  for (const [index, { name }] of variables.entries()) {
    if (names.has(name)) throw new AppError('validation_error', `variables.${index}.name: is there twice`)
    names.add(name)
  }
  return variables
}
