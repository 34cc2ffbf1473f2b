/** What the agent believes of the desired state. The panel is the less trusted side: no field gets into a path unchecked. */
import { isHealthPath } from '../node/health.ts'
import type { DesiredRelease, DesiredSite, DesiredSubscription } from '../node/protocol.ts'
import { arePhpLimits, isEnvironment, isSitePhp } from './php/checks.ts'

/** So that a uid fits into 31 bits, whatever is added. */
const MAX_ID = 2_000_000_000
const MAX_NAMES = 1000
const MAX_RELEASES = 10_000
const MAX_NAME = 253
/** RFC 1123 §2.1: 1 to 63 letters, digits and inner hyphens. */
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
/** Nothing that begins with a dot, so neither `..` nor a hidden directory. */
const DIRECTORY = /^[A-Za-z0-9_][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_][A-Za-z0-9._-]*)*$/
const MAX_DIRECTORY = 255
const SHA256 = /^[0-9a-f]{64}$/
const VERSION = /^\d{1,2}\.\d{1,2}$/

const isId = (value: unknown): value is number => isCount(value) && value <= MAX_ID
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 1
const isSize = (value: unknown) => value === 0 || isCount(value)
const isText = (value: unknown): value is string => typeof value === 'string'
const isOneOf = (value: unknown, ...choices: string[]) => choices.includes(value as string)

function isDomain(value: unknown): boolean {
  if (!isText(value) || value.length > MAX_NAME) return false
  const labels = value.split('.')
  return labels.length > 1 && labels.every((label) => LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? '')
}

const isDirectory = (value: unknown) =>
  value === null || value === '.' || (isText(value) && value.length <= MAX_DIRECTORY && DIRECTORY.test(value))

const isPath = (value: unknown) => value === undefined || value === null || (isText(value) && isHealthPath(value))

const isListOf = (value: unknown, most: number, is: (one: unknown) => boolean) =>
  Array.isArray(value) && value.length <= most && value.every(is)

function isRelease(value: unknown): boolean {
  const { deploymentId, number, sha256, archiveBytes, publicDir, limits } = (value ?? {}) as Partial<DesiredRelease>
  const isLimited = limits === undefined || (isSize(limits?.maxBytes) && isCount(limits.maxFiles))
  const isArchive = isText(sha256) && SHA256.test(sha256) && isCount(archiveBytes)
  return isCount(deploymentId) && isCount(number) && isArchive && isLimited && isDirectory(publicDir)
}

/** @throws Error unless both may become numbers of users and parts of paths */
export function requireIds(subscriptionId: unknown, siteId?: unknown): void {
  if (!isId(subscriptionId) || (siteId !== undefined && !isId(siteId))) {
    throw new Error('the panel names a subscription or a site by what is no id')
  }
}

/** @returns the name of a field that no panel of ours sends so; undefined when all are right */
export function wrongField(subscription: DesiredSubscription, site: DesiredSite): string | undefined {
  if (!isId(subscription.id)) return 'subscription'
  if (!arePhpLimits(subscription.php)) return 'PHP of the subscription'
  if (!isOneOf(subscription.state, 'active', 'suspended', 'deleting')) return 'state of the subscription'
  const { release, phpVersion } = site
  const rules: Record<string, boolean> = {
    id: isId(site.id),
    generation: isCount(site.generation),
    state: isOneOf(site.state, 'serving', 'disabled', 'deleting'),
    names: isListOf(site.names, MAX_NAMES, isDomain) && site.names.length > 0,
    kind: isOneOf(site.kind, 'static', 'php'),
    phpVersion: phpVersion === null || (isText(phpVersion) && VERSION.test(phpVersion)),
    php: isSitePhp(site.php),
    environment: isEnvironment(site.environment),
    spa: typeof site.spa === 'boolean',
    publicDir: isDirectory(site.publicDir),
    healthPath: isPath(site.healthPath),
    release: release === null || isCount(release),
    toUnpack: isListOf(site.toUnpack, MAX_RELEASES, isRelease),
    kept: isListOf(site.kept, MAX_RELEASES, isCount),
  }
  return Object.keys(rules).find((field) => !rules[field])
}
