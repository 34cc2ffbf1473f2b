/** The administrator of the first start: a random password in a file of its own, deleted when the password changes. */
import { rm } from 'node:fs/promises'
import { newToken, writePrivateFile } from '../../../crypto/secret.ts'

export type InitialAdminOptions = {
  email: string
  /** Where the password waits for the operator, mode 0600. */
  path: string
  hasUsers(): Promise<boolean>
  hash(password: string): Promise<string>
  createAdministrator(email: string, passwordHash: string): Promise<{ id: number }>
}

export type InitialAdmin = ReturnType<typeof createInitialAdmin>

/** The first row of an empty table: ids are given out in order and never again. */
const INITIAL_ADMIN_ID = 1

export function createInitialAdmin(options: InitialAdminOptions) {
  return {
    /** @returns the password when the administrator was made just now */
    async ensure(): Promise<string | undefined> {
      if (await options.hasUsers()) return undefined
      const password = newToken()
      // The file first: after a crash in between, the next start finds no user and begins again.
      writePrivateFile(options.path, `${password}\n`)
      await options.createAdministrator(options.email, await options.hash(password))
      return password
    },

    /** Removes the file once its password is no longer the administrator's. */
    async forget(userId: number): Promise<void> {
      if (userId === INITIAL_ADMIN_ID) await rm(options.path, { force: true })
    },
  }
}
