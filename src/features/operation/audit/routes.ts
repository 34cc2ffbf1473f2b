/** `/audit-log`: the events of your account; `/admin/audit-log`: all events. */
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
    summary: 'List the events of your account, newest first',
    description:
      'Shows what the user did and what others did to the account, and what the user did to other accounts while the user is an administrator. Failures and refusals appear within seconds; repeated ones are summed up after ten minutes. Beyond 512 KiB of entries a day (about 1,200), what a customer does with sites and subscriptions is summed up within the hour by credential, address and action, with `times` and the first and last target; so are actions on API keys and sessions beyond 256 KiB, and two-factor setup and password changes beyond 64 KiB.',
    scope: 'audit-log:read',
    tag: 'Audit log',
    query: closed({ ...ownAuditFilter, ...pageQuery }),
    paged: true,
    data: t.Array(AuditEntryModel),
  }),
  listAuditLog: operation('admin', {
    id: 'listAuditLog',
    summary: 'List all events, newest first',
    description: '`ncp audit verify` on the server proves that no entry was changed or removed.',
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
