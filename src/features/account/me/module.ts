/** What a caller can learn about the credential it uses. */
import type { Module } from '../../../module.ts'
import type { ApiKeys } from '../api-keys/api-keys.ts'
import type { Users } from '../users/users.ts'
import { meRoutes } from './routes.ts'

export type MeNeeds = { users: Users; apiKeys: ApiKeys }

export function meModule({ users, apiKeys }: MeNeeds) {
  return {
    services: {},
    routes: ({ guard }) => [meRoutes({ guard, getUser: users.get, findKey: apiKeys.find })],
  } satisfies Module
}
