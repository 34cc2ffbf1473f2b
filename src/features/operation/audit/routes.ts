/** `/audit-log`, one's own entries, and `/admin/audit-log`, everybody's. */
import { Elysia, t } from 'elysia'
import { representPage, sendPage } from '../../../http/conditional.ts'
import type { Guard } from '../../../http/guard.ts'
import { type Call, operation } from '../../../http/operation.ts'
import { pageOfQuery, pageQuery } from '../../../http/page.ts'
import { closed } from '../../../http/schema.ts'
import type { Audit } from './audit.ts'
import { AuditEntryModel, auditFilter, ownAuditFilter, toAuditEntry, toAuditFilter, toOwnAuditEntry } from './model.ts'

const operations = {
  listOwnAuditLog: operation('user', {
    id: 'listOwnAuditLog',
    summary: 'List what happened to the own account, the newest first',
    description:
      'What the user did and what others did to the account; what was done to other accounts, while the user is an administrator. Failures and refusals are there within seconds, repeated ones summed up after ten minutes. What a customer does with sites and subscriptions beyond 512 KiB of entries a day, some 1,200, is summed up by credential, address and action within the hour, with `times` and the first and last target; so is what is done with API keys and sessions beyond 256 KiB, and setting up two-factor authentication or changing the password beyond 64 KiB.',
    scope: 'audit-log:read',
    tag: 'Audit log',
    query: closed({ ...ownAuditFilter, ...pageQuery }),
    paged: true,
    data: t.Array(AuditEntryModel),
  }),
  listAuditLog: operation('admin', {
    id: 'listAuditLog',
    summary: 'List what happened, the newest first',
    description: '`ncp audit verify` on the server proves that nothing was changed or taken out.',
    scope: 'audit-log:read',
    tag: 'Audit log',
    query: closed({ ...auditFilter, ...pageQuery }),
    paged: true,
    data: t.Array(AuditEntryModel),
  }),
}

export function auditRoutes({ guard, audit }: { guard: Guard; audit: Audit }) {
  async function listOwnAuditLog({
    caller: { userId, role },
    query,
    context,
  }: Call<typeof operations.listOwnAuditLog>) {
    const page = await audit.list(pageOfQuery(query), {
      ...toAuditFilter(query),
      userId,
      ownAccount: role === 'customer',
    })
    return sendPage(
      context,
      query,
      representPage(page, (entry) => toOwnAuditEntry(entry, userId)),
    )
  }

  async function listAuditLog({ query, context }: Call<typeof operations.listAuditLog>) {
    const page = await audit.list(pageOfQuery(query), toAuditFilter(query))
    return sendPage(context, query, representPage(page, toAuditEntry))
  }

  return new Elysia()
    .use(guard)
    .get('/audit-log', listOwnAuditLog, operations.listOwnAuditLog)
    .get('/admin/audit-log', listAuditLog, operations.listAuditLog)
}
