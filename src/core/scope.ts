/** Scopes: what an API key may do, if it may not do everything that its user may. */

/** One pair for each kind of resource, named after its tag in the OpenAPI document. Grows; a name never changes its meaning. */
export const SCOPES = [
  'sites:read',
  'sites:write',
  'deployments:read',
  'deployments:write',
  'logs:read',
  'subscriptions:read',
  'subscriptions:write',
  'ssh-keys:read',
  'ssh-keys:write',
  'environment:read',
  'environment:write',
  'audit-log:read',
  'users:read',
  'users:write',
  'settings:read',
  'settings:write',
  'nodes:read',
  'certificates:write',
] as const

export type Scope = (typeof SCOPES)[number]
