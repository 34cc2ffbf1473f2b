/** What unpacking an archive comes to: the one line of JSON that the child process prints, and that its parent checks. */
import { type Static, type TSchema, Type } from '@sinclair/typebox'

/** Why an archive is refused, or was not unpacked. Stable, for programs. */
export const failureCodes = [
  'archive_unknown',
  'archive_damaged',
  'archive_empty',
  'name_invalid',
  'name_taken',
  'type_refused',
  'link_refused',
  'link_outside',
  'link_broken',
  'too_many_bytes',
  'too_many_files',
  'too_slow',
  'disk_full',
  'release_not_empty',
  'aborted',
  'unpack_failed',
] as const

export type FailureCode = (typeof failureCodes)[number]

const closed = <Fields extends Record<string, TSchema>>(fields: Fields) =>
  Type.Object(fields, { additionalProperties: false })

const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

export const unpackedSchema = closed({
  ok: Type.Literal(true),
  /** Files and links; folders are not counted here, though the limit counts them. */
  files: count,
  bytes: count,
  /** `public` where the release has a folder of that name. */
  publicDir: Type.Union([Type.Literal('public'), Type.Literal('')]),
})

export const notUnpackedSchema = closed({
  ok: Type.Literal(false),
  code: Type.Union(failureCodes.map((code) => Type.Literal(code))),
  /** The name of the entry that is to blame, made printable and cut; null where it is the archive as a whole. */
  entry: Type.Union([Type.String({ maxLength: 300 }), Type.Null()]),
  /** The number of that entry in the archive, from 1. */
  line: Type.Union([Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), Type.Null()]),
  /** A sentence for the person who made the archive. */
  message: Type.String({ minLength: 1, maxLength: 1000 }),
})

export const resultSchema = Type.Union([unpackedSchema, notUnpackedSchema])

export type Unpacked = Static<typeof unpackedSchema>
export type NotUnpacked = Static<typeof notUnpackedSchema>
export type UnpackResult = Static<typeof resultSchema>
