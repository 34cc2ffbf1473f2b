/** Verifies the audit log of a database that no panel has open, such as one in a backup. */
import { readDatabase } from '../../../db/sqlite/snapshot.ts'
import { verifyChain } from './verify.ts'

/** @returns the problems of the audit log in a database file; empty if it is intact */
export async function auditProblems(path: string): Promise<string[]> {
  const outcome = await readDatabase(path, (read) => verifyChain({ read }))
  return outcome.valid ? [] : [`the audit log is broken at entry ${outcome.entryId}: ${outcome.reason}`]
}
