/** Queries for the addresses from which a user logged in or set a new password. */
import { and, eq, isNull, lt, or } from 'drizzle-orm'
import { given, prepare } from '../../../db/statements.ts'
import { knownAddresses } from '../../../db/tables.ts'

const isAddress = and(
  eq(knownAddresses.userId, given('userId')),
  eq(knownAddresses.addressGroup, given('addressGroup')),
)

export const findAddress = prepare((queries) =>
  queries
    .select({ lastLoginAt: knownAddresses.lastLoginAt, resetAt: knownAddresses.resetAt })
    .from(knownAddresses)
    .where(isAddress),
)

export const forgetOldAddresses = prepare((tx) =>
  tx
    .delete(knownAddresses)
    .where(
      and(
        lt(knownAddresses.lastLoginAt, given('since')),
        or(isNull(knownAddresses.resetAt), lt(knownAddresses.resetAt, given('since'))),
      ),
    ),
)

export const noteLogin = prepare((tx) =>
  tx
    .insert(knownAddresses)
    .values({ userId: given('userId'), addressGroup: given('addressGroup'), lastLoginAt: given('now') })
    .onConflictDoUpdate({
      target: [knownAddresses.userId, knownAddresses.addressGroup],
      set: { lastLoginAt: given('now'), resetAt: null },
    }),
)

export const noteReset = prepare((tx) =>
  tx
    .insert(knownAddresses)
    .values({ userId: given('userId'), addressGroup: given('addressGroup'), lastLoginAt: 0, resetAt: given('now') })
    .onConflictDoUpdate({
      target: [knownAddresses.userId, knownAddresses.addressGroup],
      set: { resetAt: given('now') },
    }),
)
