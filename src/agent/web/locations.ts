/** How a request for a site is answered: from its files, by PHP, or with a page that says why not. */
import { join } from 'node:path'
import type { NodeLayout } from '../layout.ts'
import { accessLog } from './access-log.ts'
import { block } from './block.ts'

/** `.git`, `.env` and the like, but not what RFC 8615 puts into `/.well-known/`. */
const HIDDEN = String.raw`/\.(?!well-known(?:/|$))`
/** PHP sources and the copies that editors leave. Nothing but PHP may answer for one: a source may contain a password. */
const PHP_NAME = String.raw`\.(?:php[0-9]*|phtml|pht|phar|phps)(?:[/~]|\.(?:bak|old|orig|save|dist|sw[a-p])|$)`

/** The variable, where letters follow. */
const DIRECTORY = `\${ncp_directory}`

/** When crawlers should come back to a suspended site. */
const RETRY_SECONDS = 3600

/** Repeated wherever a location adds another header, since it then inherits none. */
export const NOSNIFF = 'add_header X-Content-Type-Options nosniff always;'

const page = (title: string, text: string) =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title><h1>${title}</h1><p>${text}</p></html>`
const NOT_FOUND = page('Not found', 'There is no page at this address.')
const NO_SITE = page('No site here', 'No site with this name is served here.')

export type LocationOptions = {
  layout: NodeLayout
  /** Who refuses the links of customers: the kernel by the way it mounts their files, or nginx. */
  refusesLinks: 'mount' | 'nginx'
  /** Has a directory for each name. */
  names: string
  /** Whether a site that has a certificate is redirected to HTTPS. */
  redirects: boolean
  /** Whether requests are visitors', and logged. */
  isLogged: boolean
}

/** The inner part of a server. */
export function locations({ layout, refusesLinks, names, redirects, isLogged }: LocationOptions): string[] {
  const site = join(names, '$ncp_name')
  const guard = refusesLinks === 'nginx' ? ['disable_symlinks if_not_owner from=$document_root;'] : []
  // An `if` is safe with `return` alone in it.
  const redirect = redirects
    ? [`if (-d ${join(layout.certificates, 'by-name/$ncp_name')}) { return 308 https://$host$request_uri; }`]
    : []
  const log = [isLogged ? accessLog(layout, 'site') : 'access_log off;', 'error_log stderr error;']
  const inner = (head: string, lines: readonly string[]) => block(`location ${head}`, [...log, ...lines])
  const outer = (head: string, lines: readonly string[]) => inner(head, [...redirect, ...lines])
  const files = [`root ${site}/pub;`, ...guard]
  // A file is opened without asking first whether it is there: a look costs as much as opening it.
  const orElse = (next: string) => [`error_page 403 404 405 = ${next};`, 'recursive_error_pages on;']
  // The directory `php` is there for PHP sites only, `spa` for single-page sites.
  const php = [`root ${site}/php;`, ...guard]
  const pass = `fastcgi_pass unix:${join(layout.phpSockets, '$ncp_site.sock')};`

  return [
    ...inner('^~ /.well-known/acme-challenge/', [
      `root ${layout.challenges};`,
      'default_type text/plain;',
      'types {}',
      'rewrite ^/.well-known/acme-challenge(/.*)$ $1 break;',
      'try_files $uri @challenge;',
    ]),
    // Of a site that gets its certificates itself.
    ...inner('@challenge', [...files, 'try_files /.well-known/acme-challenge$uri @end;']),

    // The index of a directory is named here: the index module would look for it, and begin the request anew.
    ...outer('= /', ['set $ncp_directory /;', 'rewrite ^ /index.html break;', ...files, ...orElse('@index')]),
    ...outer('/', [...files, ...orElse('@miss')]),
    ...outer(`~ ${HIDDEN}`, [`root ${layout.empty};`, 'try_files /- @end;']),
    ...outer(`~* ${PHP_NAME}`, [
      ...php,
      String.raw`fastcgi_split_path_info ^(.+?\.php)(/.*)$;`,
      'set $ncp_path_info $fastcgi_path_info;',
      'try_files $fastcgi_script_name @front;',
      pass,
    ]),
    ...outer('~ ^(?<ncp_directory>.*/)$', [`rewrite ^ ${DIRECTORY}index.html break;`, ...files, ...orElse('@index')]),

    ...inner('@index', [...php, `try_files ${DIRECTORY}index.php @directory;`, pass]),
    ...inner('@directory', [
      ...files,
      'if (-d $document_root$ncp_read_directory) { return 404; }',
      // There is no such file: goes on to @miss.
      'try_files /.- @miss;',
    ]),
    ...inner('@miss', [...php, 'try_files /index.php @spa;', pass]),
    ...inner('@front', [...php, 'try_files /index.php @end;', pass]),
    ...inner('@spa', [
      `root ${site}/spa;`,
      ...guard,
      'add_header Cache-Control no-cache;',
      NOSNIFF,
      'try_files /index.html @end;',
    ]),
    ...inner('@end', [
      'default_type text/html;',
      `if (-f ${site}/503.html) { return 503; }`,
      `if (!-d ${site}) { return 404 '${NO_SITE}'; }`,
      // Only a program could take anything else.
      'if ($request_method !~ ^(?:GET|HEAD)$) { return 405; }',
      'return 404;',
    ]),

    // By an address and not by a name, which would keep the method: a POST gets the page too. No client can ask for two
    // slashes, since nginx makes them one.
    'error_page 403 404 =404 //404;',
    'error_page 503 //503;',
    ...inner('= //404', ['internal;', ...files, 'try_files /404.html @not-found;']),
    ...inner('@not-found', ['default_type text/html;', `return 404 '${NOT_FOUND}';`]),
    ...inner('= //503', [
      'internal;',
      `add_header Retry-After ${RETRY_SECONDS} always;`,
      'add_header Cache-Control no-store always;',
      NOSNIFF,
      'try_files /503.html =404;',
    ]),
  ]
}
