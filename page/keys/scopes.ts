/** What an API key may do, in presets and in words. */
import type { Schemas } from '../api/client.ts'
import { words } from '../words/words.ts'

export type Scope = NonNullable<Schemas['CreateApiKeyRequest']['scopes']>[number]
export type Preset = 'deploy' | 'read' | 'everything' | 'custom'

const FOR_CUSTOMERS: readonly Scope[] = [
  'sites:read',
  'sites:write',
  'deployments:read',
  'deployments:write',
  'subscriptions:read',
  'subscriptions:write',
  'audit-log:read',
]
const FOR_ADMINISTRATORS: readonly Scope[] = [
  'users:read',
  'users:write',
  'settings:read',
  'settings:write',
  'nodes:read',
]

export const scopesFor = (isAdmin: boolean): readonly Scope[] =>
  isAdmin ? [...FOR_CUSTOMERS, ...FOR_ADMINISTRATORS] : FOR_CUSTOMERS

/** @returns undefined for all that the user may do */
export function scopesOf(preset: Exclude<Preset, 'custom'>, isAdmin: boolean): Scope[] | undefined {
  if (preset === 'everything') return undefined
  if (preset === 'deploy') return ['sites:read', 'deployments:read', 'deployments:write']
  return scopesFor(isAdmin).filter((scope) => scope.endsWith(':read'))
}

/** Such as "Sites: read, change · Deployments: read". */
export function describeScopes(scopes: readonly string[] | undefined): string {
  if (scopes === undefined) return words.keys.allScopes
  const rights: Readonly<Record<string, string>> = words.keys.rights
  const things: Readonly<Record<string, string>> = words.keys.things
  const byThing = Map.groupBy(scopes, (scope) => scope.split(':')[0] ?? '')
  return [...byThing]
    .map(([thing, all]) => {
      const told = all.map((scope) => rights[scope.split(':')[1] ?? ''] ?? scope)
      return `${things[thing] ?? thing}: ${told.join(', ')}`
    })
    .join(' · ')
}
