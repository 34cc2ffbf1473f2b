/** `/auth/me`: whose credential a request carries, and what it may do. */
import { Elysia } from 'elysia'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import { type Call, operation } from '../../../http/operation.ts'
import type { ApiKeys } from '../api-keys/api-keys.ts'
import { toUser } from '../model.ts'
import type { Users } from '../users/users.ts'
import * as model from './model.ts'

const operations = {
  getMe: operation('user', {
    id: 'getMe',
    summary: 'Show whose credential this is, and what it may do',
    description: 'A script can call this first to check its key. Every key may.',
    scope: null,
    keepsToSubscription: true,
    keepsToSites: true,
    tag: 'Authentication',
    data: model.MeModel,
  }),
}

export type MeRoutesOptions = { guard: Guard; getUser: Users['get']; findKey: ApiKeys['find'] }

export function meRoutes({ guard, getUser, findKey }: MeRoutesOptions) {
  async function getMe({ caller, context }: Call<typeof operations.getMe>) {
    const { credential } = caller
    const key = credential.kind === 'jwt' ? undefined : await findKey(caller, credential.keyId)
    const user = await getUser(caller.userId)
    return envelope({
      user: toUser(user),
      two_factor_enabled: user.totpEnabledAt !== null,
      credential: model.toCredential(credential, key),
      rate_limit: model.toRateLimit(context.responseHeaders),
    })
  }

  return new Elysia({ prefix: '/auth' }).use(guard).get('/me', getMe, operations.getMe)
}
