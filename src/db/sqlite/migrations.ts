/** The migrations that this program carries, oldest first. A file that has shipped never changes. */
import initial from '../../../drizzle/0000_initial.sql' with { type: 'text' }
import accounts from '../../../drizzle/0001_accounts.sql' with { type: 'text' }
import idempotency from '../../../drizzle/0002_idempotency.sql' with { type: 'text' }
import apiKeyOptions from '../../../drizzle/0003_api-key-options.sql' with { type: 'text' }
import allowances from '../../../drizzle/0004_allowances.sql' with { type: 'text' }
import severalResetLinks from '../../../drizzle/0005_several-reset-links.sql' with { type: 'text' }
import selfRotation from '../../../drizzle/0006_self-rotation.sql' with { type: 'text' }
import boundedWork from '../../../drizzle/0007_bounded-work.sql' with { type: 'text' }
import auditSums from '../../../drizzle/0008_audit-sums.sql' with { type: 'text' }
import auditHead from '../../../drizzle/0009_audit-head.sql' with { type: 'text' }
import jobs from '../../../drizzle/0010_jobs.sql' with { type: 'text' }
import servedSites from '../../../drizzle/0011_served-sites.sql' with { type: 'text' }
import namesByZone from '../../../drizzle/0012_names-by-zone.sql' with { type: 'text' }
import nodes from '../../../drizzle/0013_nodes.sql' with { type: 'text' }
import siteUsage from '../../../drizzle/0014_site-usage.sql' with { type: 'text' }
import nodesServe from '../../../drizzle/0015_nodes-serve.sql' with { type: 'text' }
import php from '../../../drizzle/0016_php.sql' with { type: 'text' }
import nodesAsk from '../../../drizzle/0017_nodes-ask.sql' with { type: 'text' }
import certificates from '../../../drizzle/0018_certificates.sql' with { type: 'text' }
import events from '../../../drizzle/0019_events.sql' with { type: 'text' }
import limits from '../../../drizzle/0020_limits.sql' with { type: 'text' }
import sshKeys from '../../../drizzle/0021_ssh-keys.sql' with { type: 'text' }
import environment from '../../../drizzle/0022_environment.sql' with { type: 'text' }
import keysOfSites from '../../../drizzle/0023_keys-of-sites.sql' with { type: 'text' }
import healthPath from '../../../drizzle/0024_health-path.sql' with { type: 'text' }

export type Migration = {
  /** The file's name without its extension. */
  name: string
  sql: string
}

export const migrations: readonly Migration[] = [
  { name: '0000_initial', sql: initial },
  { name: '0001_accounts', sql: accounts },
  { name: '0002_idempotency', sql: idempotency },
  { name: '0003_api-key-options', sql: apiKeyOptions },
  { name: '0004_allowances', sql: allowances },
  { name: '0005_several-reset-links', sql: severalResetLinks },
  { name: '0006_self-rotation', sql: selfRotation },
  { name: '0007_bounded-work', sql: boundedWork },
  { name: '0008_audit-sums', sql: auditSums },
  { name: '0009_audit-head', sql: auditHead },
  { name: '0010_jobs', sql: jobs },
  { name: '0011_served-sites', sql: servedSites },
  { name: '0012_names-by-zone', sql: namesByZone },
  { name: '0013_nodes', sql: nodes },
  { name: '0014_site-usage', sql: siteUsage },
  { name: '0015_nodes-serve', sql: nodesServe },
  { name: '0016_php', sql: php },
  { name: '0017_nodes-ask', sql: nodesAsk },
  { name: '0018_certificates', sql: certificates },
  { name: '0019_events', sql: events },
  { name: '0020_limits', sql: limits },
  { name: '0021_ssh-keys', sql: sshKeys },
  { name: '0022_environment', sql: environment },
  { name: '0023_keys-of-sites', sql: keysOfSites },
  { name: '0024_health-path', sql: healthPath },
]
