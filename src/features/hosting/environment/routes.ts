/** `/sites/:id/environment`: variables that the PHP of a site finds in its environment. */
import { Elysia, t } from 'elysia'
import { preconditionOf, sendChanged, sendResource } from '../../../http/conditional.ts'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import { type Call, operation } from '../../../http/operation.ts'
import { closed } from '../../../http/schema.ts'
import { inSubscription, siteParams, toSiteRef } from '../model.ts'
import type { Environment } from './environment.ts'
import { BODY_LIMITS, EnvironmentModel, PutEnvironment, toEnvironment, toVariables } from './model.ts'

const tag = 'Environment'

const operations = {
  getEnvironment: operation('user', {
    id: 'getEnvironment',
    summary: 'List the environment variables of a site',
    description: 'Their names, never their values.',
    scope: 'environment:read',
    keepsToSubscription: true,
    keepsToSites: true,
    tag,
    params: siteParams,
    query: closed(inSubscription),
    conditional: true,
    data: EnvironmentModel,
    errors: ['forbidden', 'not_found'],
  }),
  putEnvironment: operation('user', {
    id: 'putEnvironment',
    summary: 'Replace the environment variables of a site',
    description:
      'On a node, PHP finds them with `getenv()` and in `$_SERVER`, and starts anew with a change, that of this subscription alone; wait for that with `GET /sites/{id}?wait=observed`. The sites of a subscription run as one user, and can read the variables of each other. At most 200 variables, 4 KiB a value, and 64 KiB a site.',
    scope: 'environment:write',
    keepsToSubscription: true,
    keepsToSites: true,
    tag,
    params: siteParams,
    query: closed(inSubscription),
    body: PutEnvironment,
    bodyLimits: BODY_LIMITS,
    takesIfMatch: true,
    data: EnvironmentModel,
    message: 'Environment changed',
    errors: ['forbidden', 'not_found', 'conflict'],
  }),
  deleteEnvironment: operation('user', {
    id: 'deleteEnvironment',
    summary: 'Delete all environment variables of a site',
    scope: 'environment:write',
    keepsToSubscription: true,
    keepsToSites: true,
    tag,
    params: siteParams,
    query: closed(inSubscription),
    takesIfMatch: true,
    data: t.Null(),
    message: 'Environment deleted',
    errors: ['forbidden', 'not_found'],
  }),
}

export type EnvironmentRoutesOptions = { guard: Guard; environment: Environment }

export function environmentRoutes({ guard, environment }: EnvironmentRoutesOptions) {
  async function getEnvironment({ caller, params, query, context }: Call<typeof operations.getEnvironment>) {
    return sendResource(context, toEnvironment(await environment.list(caller, toSiteRef(params, query))))
  }

  async function putEnvironment({ caller, params, query, context, body }: Call<typeof operations.putEnvironment>) {
    const precondition = preconditionOf(context, toEnvironment)
    const variables = await environment.replace(caller, toSiteRef(params, query), toVariables(body), precondition)
    return sendChanged(context, toEnvironment(variables), operations.putEnvironment.message)
  }

  async function deleteEnvironment({ caller, params, query, context }: Call<typeof operations.deleteEnvironment>) {
    await environment.remove(caller, toSiteRef(params, query), preconditionOf(context, toEnvironment))
    return envelope(null, operations.deleteEnvironment.message)
  }

  return new Elysia({ prefix: '/sites' })
    .use(guard)
    .get('/:id/environment', getEnvironment, operations.getEnvironment)
    .put('/:id/environment', putEnvironment, operations.putEnvironment)
    .delete('/:id/environment', deleteEnvironment, operations.deleteEnvironment)
}
