/** The access log of all sites: a line of JSON a request, without what a client proves itself with. */
import { join } from 'node:path'
import type { NodeLayout } from '../layout.ts'

export const accessLogOf = ({ webLogs }: Pick<NodeLayout, 'webLogs'>): string => join(webLogs, 'access.log')

/**
 * Bytes from 0x80 on are written as they came, so a line may be invalid UTF-8. The number of the site is not here: only
 * `$realpath_root` could tell it, at a third of what a request costs.
 */
const FIELDS = [
  // The end, in seconds since the epoch.
  '"t":$msec',
  '"r":"$remote_addr"',
  '"m":"$request_method"',
  '"u":"$request_uri"',
  '"p":"$server_protocol"',
  '"s":$status',
  // Bytes, of the response and of the request.
  '"b":$bytes_sent',
  '"i":$request_length',
  // Seconds from the first byte of the request to the last one of the response.
  '"d":$request_time',
  '"S":"$scheme"',
  '"f":"$http_referer"',
  '"a":"$http_user_agent"',
]

/** `h` is the name under which a site was looked up. */
const SITE_FORMAT = 'ncp_site'
/** Of requests for which none was. */
const OTHER_FORMAT = 'ncp_other'

export const accessLogFormats = (): string[] => [
  `log_format ${SITE_FORMAT} escape=json '{"h":"$ncp_name",${FIELDS.join(',')}}';`,
  `log_format ${OTHER_FORMAT} escape=json '{"h":"-",${FIELDS.join(',')}}';`,
]

export const accessLog = (layout: NodeLayout, of: 'site' | 'other'): string =>
  `access_log ${accessLogOf(layout)} ${of === 'site' ? SITE_FORMAT : OTHER_FORMAT} buffer=64k flush=1s;`
