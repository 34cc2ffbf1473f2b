/** The views of administrators, in a script of their own. */
export { AuditLog } from './audit-log.tsx'
export { Nodes } from './nodes.tsx'
export { Settings } from './settings.tsx'
export { Subscriptions } from './subscriptions.tsx'
export { User } from './user.tsx'
export { Users } from './users.tsx'
