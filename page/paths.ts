/** The paths that answer with the page: each is a route of the server, and a view of the page. */
export const paths = [
  '/',
  '/login',
  '/forgot',
  '/reset-password',
  '/activate',
  '/confirm-email',
  '/change-password',
  '/sites',
  '/sites/new',
  '/sites/:id',
  '/sites/:id/deployments',
  '/sites/:id/logs',
  '/sites/:id/settings',
  '/keys',
  '/account',
  '/admin/users',
  '/admin/users/:id',
  '/admin/subscriptions',
  '/admin/settings',
  '/admin/audit-log',
  '/admin/nodes',
] as const

export type Path = (typeof paths)[number]
