/** Users: created and changed by administrators, invited by email, and the administrator of the first start. */
import { panelItself } from '../../../core/actor.ts'
import type { Module } from '../../../module.ts'
import type { Platform } from '../../../platform.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { WriteAs } from '../credentials/write-as.ts'
import type { Sessions } from '../session/sessions.ts'
import { createIssueActivation } from './activation.ts'
import { createInitialAdmin } from './initial-admin.ts'
import { userRoutes } from './routes.ts'
import { createUsers } from './users.ts'

export type UsersNeeds = Platform & { audit: RecordAudit; writeAs: WriteAs; sessions: Sessions }

export function usersModule(needs: UsersNeeds) {
  const { config, store, clock, paths, hasUsers, passwords, outbox, findWording, audit, writeAs, sessions } = needs
  const users = createUsers({
    store,
    clock,
    audit,
    writeAs,
    endSessions: sessions.endWithin,
    issueActivation: createIssueActivation({
      clock,
      putMail: outbox.put,
      findWording,
      publicUrl: config.publicUrl,
    }),
  })
  const initialAdmin = createInitialAdmin({
    email: config.adminEmail,
    path: paths.initialAdminPassword,
    hasUsers,
    hash: passwords.hash,
    createAdministrator: (email, hash) =>
      users.create(panelItself, { email, name: 'Administrator', role: 'admin' }, hash),
  })
  return {
    services: { users, initialAdmin },
    routes: ({ guard, answerOnce }) => [userRoutes({ guard, users, answerOnce })],
  } satisfies Module
}
