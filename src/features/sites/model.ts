/** What `/sites` takes and gives. */
import { t } from 'elysia'
import { formatTimestamp } from '../../core/timestamp.ts'
import { choice, closed, idIn, idOut, integerText, text, timestampOut } from '../../http/schema.ts'
import { PHP_VERSIONS, type Site, type SiteChanges } from './sites.ts'

/** Long enough for a name in the letters of its language, which punycode makes longer. */
const domainName = () => text({ minLength: 1, maxLength: 253, examples: ['www.example.com'] })
const aliases = () => t.Array(domainName(), { maxItems: 100, uniqueItems: true, examples: [['example.com']] })
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

/** From the wire's names to the service's; what is absent stays absent. */
export function toSiteChanges({ php_version: phpVersion, ...same }: typeof ChangeSite.static): SiteChanges {
  return { ...same, ...(phpVersion !== undefined && { phpVersion }) }
}
