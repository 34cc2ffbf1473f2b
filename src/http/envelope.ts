/** The contract's envelope: every response is `{data, error, message}`. */
import { type TSchema, t } from 'elysia'
import { catalogue, type ErrorCode } from '../core/errors.ts'
import { choice } from './schema.ts'

export type Envelope<Data> = { data: Data; error: null; message: string }

/** Wraps a success. Every route calls this itself, so what it returns is what is sent. */
export function envelope<Data>(data: Data, message = ''): Envelope<Data> {
  return { data, error: null, message }
}

/** Wraps an error. @param message the catalogue's, unless the thrower has something more precise */
export function errorEnvelope(code: ErrorCode, message: string = catalogue[code].message) {
  return { data: null, error: catalogue[code].error, message }
}

/** The schema of a success. */
export function envelopeOf(data: TSchema, message: string) {
  return t.Object(
    { data, error: t.Null(), message: t.String({ examples: [message] }) },
    { additionalProperties: false },
  )
}

/** The schema of every error. */
export const ErrorEnvelope = t.Object(
  {
    data: t.Null(),
    error: choice([...new Set(Object.values(catalogue).map(({ error }) => error))], 'Stable, and meant for programs'),
    message: t.String({
      examples: ['No such site'],
      description: 'For people: what is wrong, and what to do about it',
    }),
  },
  { additionalProperties: false, title: 'ErrorEnvelope' },
)
