/** Users and groups of this machine, as /etc/passwd and /etc/group have them. */
import { readFileSync, statSync } from 'node:fs'

export type Account = { name: string; id: number; gid: number }

/** By name and by number, read again when the file has changed. */
function createTable(path: string) {
  let version = ''
  let byName = new Map<string, Account>()
  let byId = new Map<number, Account>()

  function refresh(): void {
    const { ino, size, mtimeMs } = statSync(path)
    const found = `${ino} ${size} ${mtimeMs}`
    if (found === version) return
    const accounts = readFileSync(path, 'utf8')
      .split('\n')
      .map((line) => line.split(':'))
      .filter((fields) => fields.length > 2)
      .map(([name = '', , id, gid]) => ({ name, id: Number(id), gid: Number(gid) }))
    // The first entry counts, as for the C library.
    byName = new Map(accounts.toReversed().map((account) => [account.name, account]))
    byId = new Map(accounts.toReversed().map((account) => [account.id, account]))
    version = found
  }

  return {
    named(name: string): Account | undefined {
      refresh()
      return byName.get(name)
    },
    numbered(id: number): Account | undefined {
      refresh()
      return byId.get(id)
    },
  }
}

export type Accounts = ReturnType<typeof createAccounts>

export const createAccounts = () => ({ users: createTable('/etc/passwd'), groups: createTable('/etc/group') })
