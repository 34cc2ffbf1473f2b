/** `/sites/:id/deployments`: what a site serves, uploaded as an archive. */
import { Elysia, t } from 'elysia'
import { representPage, sendPage, sendResource } from '../../../http/conditional.ts'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import type { AnswerOnce } from '../../../http/idempotency/answer-once.ts'
import { type Call, operation } from '../../../http/operation.ts'
import { pageOfQuery, pageQuery } from '../../../http/page.ts'
import { closed, toInteger } from '../../../http/schema.ts'
import type { ReceiveUpload } from '../../../http/upload.ts'
import { LIMITS } from '../../../node/limits.ts'
import { inSubscription, siteParams, toPatience, toSiteRef, waitQuery } from '../model.ts'
import type { Activate } from './activate.ts'
import type { Deployments } from './deployments.ts'
import {
  DeploymentModel,
  deploymentParams,
  newDeploymentQuery,
  readDigest,
  toDeployment,
  toNewDeployment,
} from './model.ts'

const deploymentWait = waitQuery('Answers once the deployment is served or has failed, or is kept and not to be served')

const tag = 'Deployments'

const operations = {
  listDeployments: operation('user', {
    id: 'listDeployments',
    summary: 'List the deployments of a site, newest first',
    description: 'The five newest that can be served are kept, the active one, and the last 20 that failed.',
    scope: 'deployments:read',
    keepsToSubscription: true,
    keepsToSites: true,
    tag,
    params: siteParams,
    query: closed({ ...inSubscription, ...pageQuery }),
    paged: true,
    data: t.Array(DeploymentModel),
    errors: ['forbidden', 'not_found'],
  }),
  createDeployment: operation('user', {
    id: 'createDeployment',
    summary: 'Deploy an archive to a site',
    description:
      'Send the archive itself as the body, such as with `curl --data-binary @site.tar.gz`; the media type does not matter. It is unpacked beside what is served, and takes its place when all of it is there. If that fails, what was served stays. A subscription may have two uploads at a time; at least 64 KiB must arrive every 30 seconds.',
    scope: 'deployments:write',
    keepsToSubscription: true,
    keepsToSites: true,
    tag,
    params: siteParams,
    query: closed(newDeploymentQuery),
    upload: { description: 'A `.tar.gz`, `.tar` or `.zip` archive', maxBytes: LIMITS.maxArchiveBytes.maximum },
    idempotent: true,
    status: 201,
    data: DeploymentModel,
    message: 'Deployment created',
    errors: ['forbidden', 'not_found', 'conflict'],
  }),
  getDeployment: operation('user', {
    id: 'getDeployment',
    summary: 'Show a deployment',
    description: 'A script that has deployed waits with `wait=observed` until that is served, or has failed.',
    scope: 'deployments:read',
    keepsToSubscription: true,
    keepsToSites: true,
    tag,
    params: deploymentParams,
    query: closed({ ...inSubscription, ...deploymentWait }),
    conditional: true,
    data: DeploymentModel,
    errors: ['forbidden', 'not_found'],
  }),
  activateDeployment: operation('user', {
    id: 'activateDeployment',
    summary: 'Serve a deployment that is kept',
    description:
      'Promotes one that is `ready`, or goes back to one that is `superseded`: the switch takes one step, as after an upload. Uploads that are still being unpacked stay `ready`. Its status is `active` once it is served; wait for that with `wait=observed`. Activating the one that is to be served already changes nothing.',
    scope: 'deployments:write',
    keepsToSubscription: true,
    keepsToSites: true,
    tag,
    params: deploymentParams,
    query: closed(inSubscription),
    data: DeploymentModel,
    message: 'Deployment activation started',
    errors: ['forbidden', 'not_found', 'conflict'],
  }),
}

export type DeploymentRoutesOptions = {
  guard: Guard
  deployments: Deployments
  activate: Activate
  answerOnce: AnswerOnce
  receiveUpload: ReceiveUpload
}

export function deploymentRoutes(options: DeploymentRoutesOptions) {
  const { guard, deployments, activate, answerOnce, receiveUpload } = options

  async function listDeployments({ caller, params, query, context }: Call<typeof operations.listDeployments>) {
    const page = await deployments.list(caller, toSiteRef(params, query), pageOfQuery(query))
    return sendPage(context, query, representPage(page, toDeployment))
  }

  async function createDeployment({ caller, params, query, context }: Call<typeof operations.createDeployment>) {
    const ref = toSiteRef(params, query)
    return receiveUpload(context, { maxBytes: LIMITS.maxArchiveBytes.maximum }, async ({ length, chunks }) => {
      const sha256 = readDigest(context.request.headers)
      return deployments.receive(caller, ref, { length, chunks, sha256 }, (archive) =>
        answerOnce(
          operations.createDeployment,
          // The digest stands for the body.
          { caller, context, query, body: archive.sha256 },
          (conclude) => deployments.create(caller, ref, archive, toNewDeployment(query), conclude),
          {
            toData: toDeployment,
            requireVisible: () => deployments.requireSite(caller, ref),
          },
        ),
      )
    })
  }

  async function getDeployment({ caller, params, query, context }: Call<typeof operations.getDeployment>) {
    const ref = toSiteRef(params, query)
    const id = toInteger(params.deployment_id)
    const patienceMs = toPatience(query)
    const deployment = await (patienceMs === undefined
      ? deployments.find(caller, ref, id)
      : deployments.findObserved(caller, ref, id, patienceMs))
    return sendResource(context, toDeployment(deployment))
  }

  async function activateDeployment({ caller, params, query }: Call<typeof operations.activateDeployment>) {
    const deployment = await activate(caller, toSiteRef(params, query), toInteger(params.deployment_id))
    return envelope(toDeployment(deployment), operations.activateDeployment.message)
  }

  return new Elysia({ prefix: '/sites' })
    .use(guard)
    .get('/:id/deployments', listDeployments, operations.listDeployments)
    .post('/:id/deployments', createDeployment, operations.createDeployment)
    .get('/:id/deployments/:deployment_id', getDeployment, operations.getDeployment)
    .post('/:id/deployments/:deployment_id/activate', activateDeployment, operations.activateDeployment)
}
