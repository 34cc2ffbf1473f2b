/** The administrator created at the first start: a random password in its own file, deleted when it changes. */
import { rm } from 'node:fs/promises'
import { newToken, writePrivateFile } from '../../../crypto/secret.ts'

export type InitialAdminOptions = {
  email: string
  /** Where the operator finds the password, mode 0600. */
  path: string
  hasUsers(): Promise<boolean>
  hash(password: string): Promise<string>
  createAdministrator(email: string, passwordHash: string): Promise<{ id: number }>
}

export type InitialAdmin = ReturnType<typeof createInitialAdmin>

/** The first row of an empty table: ids are assigned in order and never reused. */
const INITIAL_ADMIN_ID = 1

export function createInitialAdmin(options: InitialAdminOptions) {
  return {
    /** @returns the password if the administrator was created just now */
    async ensure(): Promise<string | undefined> {
      if (await options.hasUsers()) return undefined
      const password = newToken()
      // The file first: after a crash in between, the next start finds no user and starts over.
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
