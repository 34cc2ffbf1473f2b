/** The settings of the sites that the panel itself serves. */
import { addressRanges, integer, text } from './rules.ts'
import type { Setting } from './setting.ts'

export type SitesConfig = {
  sitesHost: string | undefined
  sitesPort: number | undefined
  sitesTlsPort: number | undefined
  outboundAllow: string[]
}

export const sitesSettings: { [Key in keyof SitesConfig]: Setting<SitesConfig[Key]> } = {
  sitesHost: {
    env: 'NCP_SITES_HOST',
    type: 'text',
    default: undefined,
    parse: text,
    help: 'address to serve sites on (default: all, IPv6 and IPv4)',
  },
  sitesPort: {
    env: 'NCP_SITES_PORT',
    type: 'number',
    default: undefined,
    parse: integer(0, 65_535),
    help: 'port to serve sites on, over HTTP; 0 picks a free one (default: no sites are served; 8080 with --demo)',
  },
  sitesTlsPort: {
    env: 'NCP_SITES_TLS_PORT',
    type: 'number',
    default: undefined,
    parse: integer(0, 65_535),
    help: 'port to serve sites on over HTTPS, beside NCP_SITES_PORT; 0 picks a free one (default: no HTTPS for sites)',
  },
  outboundAllow: {
    env: 'NCP_OUTBOUND_ALLOW',
    type: 'list',
    default: [],
    parse: addressRanges,
    help: 'addresses or CIDR ranges, separated by commas, that requests for customers may go to although they are not public',
  },
}
