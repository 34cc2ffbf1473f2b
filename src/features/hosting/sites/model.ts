/** The schemas of `/sites`. */
import { t } from 'elysia'
import { AppError } from '../../../core/errors.ts'
import { formatTimestamp } from '../../../core/timestamp.ts'
import {
  choice,
  closed,
  flag,
  idIn,
  idOut,
  integerOut,
  integerText,
  list,
  nullable,
  nullableIn,
  text,
  timestampOut,
  toInteger,
} from '../../../http/schema.ts'
import { isHealthPath, MAX_HEALTH_PATH_LENGTH } from '../../../node/health.ts'
import type { Failure } from '../../../node/protocol.ts'
import { TlsModel, toTls } from '../tls/model.ts'
import { tlsOf } from '../tls/state.ts'
import { normalizeDomain } from './domain.ts'
import { noPhpIn, phpSettingsIn, phpSettingsOut } from './php/model.ts'
import { readPhp } from './php/settings.ts'
import { type ServedBy, urlsOf } from './serving.ts'
import type { NewSite, Site, SiteChanges, SiteFilter } from './sites.ts'
import { STATUSES, statusOf } from './status.ts'

const NAME_LENGTH = { minLength: 1, maxLength: 253 }
/** Long enough for a name in its own script, although punycode is longer. */
const domainName = () =>
  text({
    ...NAME_LENGTH,
    examples: ['www.example.com'],
    rule: (value) =>
      normalizeDomain(value) === undefined && value !== '' && value.length <= NAME_LENGTH.maxLength
        ? 'must be a full domain name, such as www.example.com'
        : 'must be 1 to 253 characters',
    obeys: (value) => normalizeDomain(value) !== undefined,
  })
const aliases = () => list(domainName(), { maxItems: 100, examples: [['example.com']] })
const kind = () => choice(['static', 'php'])
const phpVersion = () =>
  nullableIn(
    text({
      maxLength: 8,
      rule: 'must be a PHP version, such as 8.4',
      obeys: (value) => /^\d{1,2}\.\d{1,2}$/.test(value),
    }),
    { examples: [null], description: 'One that is installed on the node, such as 8.4; null for a static site' },
  )
const spa = () => flag('Whether paths without a file return `index.html`')
/** Plain names only: it becomes a path on the node. */
const publicDir = () =>
  nullableIn(
    text({
      minLength: 1,
      maxLength: 255,
      rule: 'must be a relative directory, such as public or web/dist, or . for the whole release',
      obeys: (value) => value === '.' || /^[A-Za-z0-9_][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_][A-Za-z0-9._-]*)*$/.test(value),
    }),
    {
      examples: ['public'],
      description: 'The directory of a release that is served; null: `public` if there is one, else the whole release',
    },
  )

const healthPath = () =>
  nullableIn(
    text({
      minLength: 1,
      maxLength: MAX_HEALTH_PATH_LENGTH,
      rule: 'must be a path such as /healthz, with letters, digits and . _ ~ - alone, and a query if need be',
      obeys: isHealthPath,
    }),
    {
      examples: ['/healthz'],
      description:
        'A path that must answer 2xx within 5 seconds, without a redirect, before a deployment is served; null: none is asked',
    },
  )

export const CreateSite = closed({
  domain: domainName(),
  aliases: t.Optional(aliases()),
  kind: t.Optional(kind()),
  php_version: t.Optional(phpVersion()),
  php_settings: t.Optional(phpSettingsIn()),
  no_php_in: t.Optional(noPhpIn()),
  spa: t.Optional(spa()),
  public_dir: t.Optional(publicDir()),
  health_path: t.Optional(healthPath()),
  subscription_id: t.Optional(idIn([1])),
})
export const ChangeSite = closed({
  domain: t.Optional(domainName()),
  aliases: t.Optional(aliases()),
  kind: t.Optional(kind()),
  php_version: t.Optional(phpVersion()),
  php_settings: t.Optional(phpSettingsIn()),
  no_php_in: t.Optional(noPhpIn()),
  spa: t.Optional(spa()),
  public_dir: t.Optional(publicDir()),
  health_path: t.Optional(healthPath()),
  enabled: t.Optional(flag('False stops serving the site')),
  status: t.Optional(choice(['active', 'disabled'], 'An older spelling of `enabled`')),
})
export const siteFilter = {
  subscription_id: t.Optional(integerText({ description: 'The subscription; absent means the default one' })),
}

export const siteSearch = {
  domain: t.Optional(
    text({ minLength: 1, maxLength: 253, examples: ['example'], description: 'Part of the domain or of an alias' }),
  ),
}

export const SiteModel = t.Object(
  {
    id: idOut(),
    subscription_id: idOut(),
    domain: t.String({ examples: ['www.example.com'], description: 'Lower-case, international names in punycode' }),
    aliases: t.Array(t.String({ examples: ['example.com'] })),
    kind: kind(),
    php_version: nullable(t.String({ examples: ['8.4'] })),
    php_settings: phpSettingsOut(),
    no_php_in: t.Array(t.String({ examples: ['wp-content/uploads'] })),
    spa: t.Boolean(),
    public_dir: nullable(t.String({ examples: ['public'] })),
    health_path: nullable(t.String({ examples: ['/healthz'] })),
    enabled: t.Boolean({ description: "The customer's own switch" }),
    status: choice(STATUSES, 'As observed by the node, and never set'),
    status_reason: nullable(t.String({ examples: ['The subscription is suspended'] })),
    failure: nullable(
      t.Object(
        {
          code: t.String({ examples: ['name_unreachable'] }),
          message: t.String(),
          retryable: t.Boolean({ description: 'Whether the node tries again by itself' }),
          retry_at: nullable(timestampOut()),
        },
        { additionalProperties: false, description: 'Why the status is `failed`' },
      ),
    ),
    generation: integerOut({ minimum: 1, examples: [2], description: 'Rises with each change of the site' }),
    observed_generation: integerOut({
      minimum: 0,
      examples: [2],
      description:
        'The generation that the status is about; a change is in progress while it is less than `generation`',
    }),
    urls: t.Array(t.String(), { description: 'Of the domain, then of the aliases; empty while nothing serves sites' }),
    tls: TlsModel,
    document_root: nullable(
      t.String({ examples: ['/var/lib/ncp/sites/7'], description: 'On the node; null until it has reported' }),
    ),
    current_deployment_id: nullable(integerOut({ minimum: 1, examples: [31] })),
    serving: t.Object(
      {
        driver: nullable(choice(['embedded', 'nginx'], 'What serves the site; null if nothing does')),
        node_id: nullable(integerOut({ minimum: 1, examples: [1], description: 'Null for the panel itself' })),
      },
      { additionalProperties: false },
    ),
    usage: t.Object(
      {
        disk_bytes: nullable(integerOut({ minimum: 0, examples: [1048576] })),
        files: nullable(integerOut({ minimum: 0, examples: [120] })),
      },
      {
        additionalProperties: false,
        description: 'On the disk, all releases together, measured every five minutes; null before the first time',
      },
    ),
    created_at: timestampOut(),
    updated_at: timestampOut(),
  },
  { additionalProperties: false, title: 'Site' },
)

/** How a site is shown, depending on what serves it. */
export function toSite(site: Site, servedBy: ServedBy) {
  const { status, reason, failure } = statusOf(site, servedBy)
  const php = readPhp(site)
  const tls = tlsOf(site, servedBy.tls)
  return {
    id: site.id,
    subscription_id: site.subscriptionId,
    domain: site.domain,
    aliases: site.aliases,
    kind: site.kind,
    php_version: site.phpVersion,
    php_settings: php.settings,
    no_php_in: php.noPhpIn,
    spa: site.spa,
    public_dir: site.publicDir,
    health_path: site.healthPath,
    enabled: site.isEnabled,
    status,
    status_reason: reason,
    failure: failure && toFailure(failure),
    generation: site.generation,
    observed_generation: site.observedGeneration,
    urls: urlsOf([site.domain, ...site.aliases], servedBy, tls),
    tls: toTls(tls),
    document_root: site.documentRoot,
    current_deployment_id: site.deploymentId,
    usage: { disk_bytes: site.diskBytes, files: site.files },
    serving: { driver: servedBy.driver, node_id: servedBy.nodeId },
    created_at: formatTimestamp(site.createdAt),
    updated_at: formatTimestamp(site.updatedAt),
  }
}

function toFailure({ code, message, retryable, retryAt }: Failure) {
  return { code, message, retryable, retry_at: retryAt === null ? null : formatTimestamp(retryAt) }
}

/**
 * The contract takes `subscription_id` from the query at every customer endpoint; the body can name it as well.
 *
 * @throws AppError `bad_request` when the two differ, since either could be the mistake
 */
export function toNewSite(
  { subscription_id: inBody, ...body }: typeof CreateSite.static,
  query: { subscription_id?: string },
): NewSite {
  const inQuery = query.subscription_id === undefined ? undefined : toInteger(query.subscription_id)
  if (inBody !== undefined && inQuery !== undefined && inBody !== inQuery) {
    throw new AppError('bad_request', 'subscription_id: must be the same in the query and the body')
  }
  const { domain, aliases = [], kind, php_version: phpVersion = null, spa = false, public_dir: publicDir = null } = body
  const { php_settings: phpSettings, no_php_in: noPhpIn, health_path: healthPath = null } = body
  return {
    domain,
    aliases,
    kind,
    phpVersion,
    phpSettings,
    noPhpIn,
    spa,
    publicDir,
    healthPath,
    subscriptionId: inBody ?? inQuery,
  }
}

export function toSiteFilter(query: { subscription_id?: string; domain?: string }): SiteFilter {
  const { subscription_id: id, domain } = query
  return { ...(id !== undefined && { subscriptionId: toInteger(id) }), ...(domain !== undefined && { domain }) }
}

/**
 * From API names to the service's; absent fields stay absent.
 *
 * @throws AppError `validation_error` when `enabled` and `status` contradict each other
 */
export function toSiteChanges(body: typeof ChangeSite.static): SiteChanges {
  const {
    php_version: phpVersion,
    php_settings: phpSettings,
    no_php_in: noPhpIn,
    public_dir: publicDir,
    health_path: healthPath,
    enabled,
    status,
    ...same
  } = body
  if (enabled !== undefined && status !== undefined && enabled !== (status === 'active')) {
    throw new AppError('validation_error', 'status: contradicts enabled; send enabled alone')
  }
  const isEnabled = enabled ?? (status === undefined ? undefined : status === 'active')
  return {
    ...same,
    ...(phpVersion !== undefined && { phpVersion }),
    ...(phpSettings !== undefined && { phpSettings }),
    ...(noPhpIn !== undefined && { noPhpIn }),
    ...(publicDir !== undefined && { publicDir }),
    ...(healthPath !== undefined && { healthPath }),
    ...(isEnabled !== undefined && { isEnabled }),
  }
}
