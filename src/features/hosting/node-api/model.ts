/** The schemas of what a node is told: the state that is wanted of it. Names are those of `node/protocol.ts`. */
import { t } from 'elysia'
import { choice, closed, idOut, integerOut, integerText, nullable, text } from '../../../http/schema.ts'

/** Longer, and the listener would take the connection for a silent one. */
const LONGEST_WAIT_SECONDS = 10

export const stateQuery = {
  after: t.Optional(
    integerText({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'The revision that the node knows; absent or 0 means the whole state',
    }),
  ),
  wait: t.Optional(
    integerText({
      minimum: 0,
      maximum: LONGEST_WAIT_SECONDS,
      description: 'Seconds to wait for a change, if there is none; absent means 0',
    }),
  ),
}

const sha256 = (description: string) =>
  text({
    minLength: 64,
    maxLength: 64,
    examples: ['0123456789abcdef'.repeat(4)],
    description,
    rule: 'must be 64 hexadecimal digits in lower case',
    obeys: (value) => /^[0-9a-f]{64}$/.test(value),
  })

export const archiveParams = closed({ sha256: sha256('The digest of the archive') })

const release = t.Object(
  {
    deployment_id: idOut(),
    number: integerOut({ minimum: 1, examples: [31], description: 'Counts the deployments of the site' }),
    sha256: sha256('Of the archive'),
    archive_bytes: integerOut({ minimum: 0, examples: [1_048_576] }),
    limits: t.Optional(
      t.Object(
        {
          max_bytes: integerOut({ minimum: 0, examples: [2_147_483_648], description: 'Of its files, unpacked' }),
          max_files: integerOut({ minimum: 1, examples: [100_000], description: 'Files, links and folders' }),
        },
        { additionalProperties: false, description: 'What it may become; absent: the own limits of the node' },
      ),
    ),
    public_dir: nullable(t.String({ examples: ['public'], description: 'A directory that it must have' })),
  },
  { additionalProperties: false },
)

const limit = (example: number, description: string) => integerOut({ minimum: 1, examples: [example], description })

const phpLimits = t.Object(
  {
    workers: limit(5, 'Requests of a site that are answered at a time'),
    memory_mb: limit(256, 'Of a request'),
    seconds: limit(60, 'Of a request'),
    upload_mb: limit(64, 'Of an upload'),
  },
  { additionalProperties: false, description: 'What PHP may take; absent: the defaults' },
)

const sitePhp = t.Object(
  {
    settings: t.Array(
      t.Object(
        {
          name: t.String({ examples: ['memory_limit'] }),
          value: t.Union([t.Boolean(), t.Number(), t.String()]),
        },
        { additionalProperties: false },
      ),
    ),
    no_php_in: t.Array(t.String(), { description: 'Directories in which no PHP is executed' }),
  },
  { additionalProperties: false, description: 'What the site sets of PHP; absent: nothing' },
)

const tls = t.Object(
  {
    challenges: t.Array(t.Object({ token: t.String(), answer: t.String() }, { additionalProperties: false }), {
      description: 'To be answered below `/.well-known/acme-challenge/`, before any redirect',
    }),
    requests: t.Array(t.Object({ id: idOut(), names: t.Array(t.String()) }, { additionalProperties: false }), {
      description: 'Certificates to make a key and a request for',
    }),
    certificates: t.Array(
      t.Object(
        {
          id: idOut(),
          names: t.Array(t.String(), { description: 'To be served with it' }),
          chain: t.String({ description: 'PEM' }),
          key: nullable(t.String({ description: 'PEM; null: the one that the node has made for this id' })),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false, description: 'What is to be done for its certificates; absent: nothing' },
)

const site = t.Object(
  {
    id: idOut(),
    generation: integerOut({ minimum: 0, examples: [2], description: 'Reports name it' }),
    state: choice(['serving', 'disabled', 'deleting'], 'Only `deleting` removes anything'),
    names: t.Array(t.String({ examples: ['www.example.com'] }), { description: 'The domain, then the aliases' }),
    kind: choice(['static', 'php']),
    php_version: nullable(t.String({ examples: ['8.4'] })),
    php: t.Optional(sitePhp),
    environment: t.Optional(
      t.Array(t.Object({ name: t.String(), value: t.String() }, { additionalProperties: false }), {
        description: 'What its PHP finds in its environment',
      }),
    ),
    spa: t.Boolean(),
    public_dir: nullable(t.String({ examples: ['public'] })),
    health_path: nullable(
      t.String({ examples: ['/healthz'], description: 'Must answer 2xx before a release is served' }),
    ),
    release: nullable(integerOut({ minimum: 1, examples: [31], description: 'The number of the release to serve' })),
    to_unpack: t.Array(release),
    kept: t.Array(integerOut({ minimum: 1, examples: [31] }), { description: 'Numbers of the releases to keep' }),
    tls: t.Optional(tls),
  },
  { additionalProperties: false, title: 'DesiredSite' },
)

const subscription = t.Object(
  {
    id: idOut(),
    state: choice(['active', 'suspended', 'deleting']),
    php: t.Optional(phpLimits),
    ssh_keys: t.Optional(
      t.Array(t.String({ examples: ['ssh-ed25519 AAAA…'] }), {
        description: 'Of those who may use SFTP; absent: nobody',
      }),
    ),
    sites: t.Array(site),
  },
  { additionalProperties: false, title: 'DesiredSubscription' },
)

export const NodeStateModel = t.Object(
  {
    installation_id: t.String({
      examples: ['0123456789abcdef'.repeat(2)],
      description: 'Of the panel, for ever',
    }),
    epoch: t.String({ examples: ['mB0nH1c…'], description: 'Another one after each restore of the database' }),
    revision: integerOut({ minimum: 0, examples: [412], description: 'To ask on from' }),
    subscriptions: t.Array(subscription, { description: 'Those that changed, whole, the oldest change first' }),
    has_more: t.Boolean({ description: 'Whether more is known already' }),
    log_requests: t.Optional(
      t.Array(
        t.Object(
          {
            id: t.String(),
            site_id: idOut(),
            kind: choice(['access', 'error', 'php']),
            lines: integerOut({ minimum: 1, examples: [200] }),
            search: nullable(t.String()),
          },
          { additionalProperties: false },
        ),
        { description: 'Logs whose last lines someone waits for; absent: none' },
      ),
    ),
    site_logs: t.Optional(
      t.Object(
        {
          days: integerOut({ minimum: 1, examples: [14], description: 'For which files are kept' }),
          short_addresses: t.Boolean({ description: 'Whether addresses of visitors are cut before they are written' }),
        },
        { additionalProperties: false, description: 'What holds for the logs of sites; absent: as told last' },
      ),
    ),
  },
  { additionalProperties: false, title: 'NodeState' },
)

export const ReportTakenModel = t.Object(
  {
    ignored: integerOut({
      minimum: 0,
      examples: [0],
      description: 'How many entries are about nothing that this node serves, or about a generation yet to come',
    }),
  },
  { additionalProperties: false, title: 'ReportTaken' },
)
