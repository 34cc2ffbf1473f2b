/** The settings for browsers: CORS, HSTS and security.txt. */

import { contactUri, oneOf, origins } from './rules.ts'
import type { Setting } from './setting.ts'

export const HSTS = ['off', 'host', 'subdomains'] as const

export type BrowserConfig = {
  corsOrigins: string[]
  hsts: (typeof HSTS)[number]
  securityContact: string | undefined
}

export const browserSettings: { [Key in keyof BrowserConfig]: Setting<BrowserConfig[Key]> } = {
  corsOrigins: {
    env: 'NCP_CORS_ORIGINS',
    type: 'list',
    default: [],
    parse: origins,
    help: 'origins, separated by commas, whose pages may call the API from a browser, such as https://app.example.com (default: none)',
  },
  hsts: {
    env: 'NCP_HSTS',
    type: 'text',
    default: 'host',
    parse: oneOf(...HSTS),
    help: 'over TLS, tell browsers to use only HTTPS for a year: off, host (for the name of the panel) or subdomains (for all names under it too)',
  },
  securityContact: {
    env: 'NCP_SECURITY_CONTACT',
    type: 'text',
    default: undefined,
    parse: contactUri,
    help: 'where to report vulnerabilities, mailto:security@example.com or an https:// URL, for /.well-known/security.txt (default: no such file)',
  },
}
