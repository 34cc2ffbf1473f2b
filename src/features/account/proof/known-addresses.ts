/** Statements about the addresses that a user logged in from, or set a new password from. */
import { and, eq, isNull, lt, or } from 'drizzle-orm'
import { given, prepared } from '../../../db/prepared.ts'
import { knownAddresses } from '../../../db/tables.ts'

const isAddress = and(
  eq(knownAddresses.userId, given('userId')),
  eq(knownAddresses.addressGroup, given('addressGroup')),
)

export const findAddress = prepared((queries) =>
  queries
    .select({ lastLoginAt: knownAddresses.lastLoginAt, resetAt: knownAddresses.resetAt })
    .from(knownAddresses)
    .where(isAddress)
    .prepare(),
)

export const forgetOldAddresses = prepared((tx) =>
  tx
    .delete(knownAddresses)
    .where(
      and(
        lt(knownAddresses.lastLoginAt, given('since')),
        or(isNull(knownAddresses.resetAt), lt(knownAddresses.resetAt, given('since'))),
      ),
    )
    .prepare(),
)

export const noteLogin = prepared((tx) =>
  tx
    .insert(knownAddresses)
    .values({ userId: given('userId'), addressGroup: given('addressGroup'), lastLoginAt: given('now') })
    .onConflictDoUpdate({
      target: [knownAddresses.userId, knownAddresses.addressGroup],
      set: { lastLoginAt: given('now'), resetAt: null },
    })
    .prepare(),
)

export const noteReset = prepared((tx) =>
  tx
    .insert(knownAddresses)
    .values({ userId: given('userId'), addressGroup: given('addressGroup'), lastLoginAt: 0, resetAt: given('now') })
    .onConflictDoUpdate({
      target: [knownAddresses.userId, knownAddresses.addressGroup],
      set: { resetAt: given('now') },
    })
    .prepare(),
)
