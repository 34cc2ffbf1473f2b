/** `/subscriptions/:id/ssh-keys`: who may use SFTP. */
import { Elysia, t } from 'elysia'
import { representPage, sendPage } from '../../../http/conditional.ts'
import { envelope } from '../../../http/envelope.ts'
import type { Guard } from '../../../http/guard.ts'
import type { AnswerOnce } from '../../../http/idempotency/answer-once.ts'
import { type Call, operation } from '../../../http/operation.ts'
import { pageOfQuery, pageQuery } from '../../../http/page.ts'
import { closed, idParams, toInteger } from '../../../http/schema.ts'
import { AddSshKey, keyParams, SshKeyModel, toSshKey } from './model.ts'
import type { SshKeys } from './ssh-keys.ts'

const tag = 'SSH keys'

const operations = {
  listSshKeys: operation('user', {
    id: 'listSshKeys',
    summary: 'List the keys for SFTP of a subscription',
    scope: 'ssh-keys:read',
    keepsToSubscription: true,
    tag,
    params: idParams('Subscription id'),
    query: closed(pageQuery),
    paged: true,
    data: t.Array(SshKeyModel),
    errors: ['forbidden', 'not_found'],
  }),
  addSshKey: operation('user', {
    id: 'addSshKey',
    summary: 'Add a key for SFTP',
    description:
      'Whoever holds its private key may read and change all files of the subscription over SFTP, as its user on its node (`ncp-s` and the id of the subscription), and do nothing else. At most 50 keys.',
    scope: 'ssh-keys:write',
    keepsToSubscription: true,
    tag,
    params: idParams('Subscription id'),
    body: AddSshKey,
    idempotent: true,
    status: 201,
    data: SshKeyModel,
    message: 'Key added',
    errors: ['forbidden', 'not_found', 'conflict'],
  }),
  deleteSshKey: operation('user', {
    id: 'deleteSshKey',
    summary: 'Delete a key for SFTP',
    description: 'It opens no connection any longer; one that is open stays until it is closed.',
    scope: 'ssh-keys:write',
    keepsToSubscription: true,
    tag,
    params: keyParams,
    data: t.Null(),
    message: 'Key deleted',
    errors: ['forbidden', 'not_found'],
  }),
}

export type SshKeyRoutesOptions = { guard: Guard; sshKeys: SshKeys; answerOnce: AnswerOnce }

export function sshKeyRoutes({ guard, sshKeys, answerOnce }: SshKeyRoutesOptions) {
  async function listSshKeys({ caller, params, query, context }: Call<typeof operations.listSshKeys>) {
    const page = await sshKeys.list(caller, toInteger(params.id), pageOfQuery(query))
    return sendPage(context, query, representPage(page, toSshKey))
  }

  async function addSshKey({ caller, params, context, query, body }: Call<typeof operations.addSshKey>) {
    const id = toInteger(params.id)
    return answerOnce(
      operations.addSshKey,
      { caller, context, query, body },
      (conclude) => sshKeys.add(caller, id, body.public_key, conclude),
      { toData: toSshKey, requireVisible: () => sshKeys.requireSubscription(caller, id) },
    )
  }

  async function deleteSshKey({ caller, params }: Call<typeof operations.deleteSshKey>) {
    await sshKeys.remove(caller, toInteger(params.id), toInteger(params.key_id))
    return envelope(null, operations.deleteSshKey.message)
  }

  return new Elysia({ prefix: '/subscriptions' })
    .use(guard)
    .get('/:id/ssh-keys', listSshKeys, operations.listSshKeys)
    .post('/:id/ssh-keys', addSshKey, operations.addSshKey)
    .delete('/:id/ssh-keys/:key_id', deleteSshKey, operations.deleteSshKey)
}
