/** The schemas of `/sites`. */
import { t } from 'elysia'
import { AppError } from '../../../core/errors.ts'
import { formatTimestamp } from '../../../core/timestamp.ts'
import { choice, closed, idIn, idOut, integerText, list, text, timestampOut, toInteger } from '../../../http/schema.ts'
import { normalizeDomain } from './domain.ts'
import { type NewSite, PHP_VERSIONS, type Site, type SiteChanges, type SiteFilter, type SiteRef } from './sites.ts'

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
const status = () => choice(['active', 'disabled'])
const phpVersion = () => choice(PHP_VERSIONS)

export const CreateSite = closed({
  domain: domainName(),
  aliases: t.Optional(aliases()),
  subscription_id: t.Optional(idIn([1])),
})
export const ChangeSite = closed({
  domain: t.Optional(domainName()),
  aliases: t.Optional(aliases()),
  php_version: t.Optional(phpVersion()),
  status: t.Optional(status()),
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
    document_root: t.String({ examples: ['/var/www/www.example.com'] }),
    php_version: phpVersion(),
    status: status(),
    created_at: timestampOut(),
    updated_at: timestampOut(),
  },
  { additionalProperties: false, title: 'Site' },
)

export function toSite(site: Site) {
  return {
    id: site.id,
    subscription_id: site.subscriptionId,
    domain: site.domain,
    aliases: site.aliases,
    document_root: site.documentRoot,
    php_version: site.phpVersion,
    status: site.status,
    created_at: formatTimestamp(site.createdAt),
    updated_at: formatTimestamp(site.updatedAt),
  }
}

/**
 * The contract takes `subscription_id` from the query at every customer endpoint; the body can name it as well.
 *
 * @throws AppError `bad_request` when the two differ, since either could be the mistake
 */
export function toNewSite(
  { domain, aliases = [], subscription_id: inBody }: typeof CreateSite.static,
  query: { subscription_id?: string },
): NewSite {
  const inQuery = query.subscription_id === undefined ? undefined : toInteger(query.subscription_id)
  if (inBody !== undefined && inQuery !== undefined && inBody !== inQuery) {
    throw new AppError('bad_request', 'subscription_id: must be the same in the query and the body')
  }
  return { domain, aliases, subscriptionId: inBody ?? inQuery }
}

export function toSiteFilter(query: { subscription_id?: string; domain?: string }): SiteFilter {
  const { subscription_id: id, domain } = query
  return { ...(id !== undefined && { subscriptionId: toInteger(id) }), ...(domain !== undefined && { domain }) }
}

/** The site in the path and the subscription in the query. */
export function toSiteRef({ params, query }: { params: { id: string }; query: { subscription_id?: string } }): SiteRef {
  const { subscription_id: id } = query
  return { id: toInteger(params.id), subscriptionId: id === undefined ? undefined : toInteger(id) }
}

/** From API names to the service's; absent fields stay absent. */
export function toSiteChanges({ php_version: phpVersion, ...same }: typeof ChangeSite.static): SiteChanges {
  return { ...same, ...(phpVersion !== undefined && { phpVersion }) }
}
