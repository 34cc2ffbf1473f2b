/** The schema of a node's report, which is hostile input, and what it becomes for the services. */
import { t } from 'elysia'
import { AppError } from '../../../../core/errors.ts'
import { choice, closed, flag, idIn, integer, list, nullable, nullableIn, text } from '../../../../http/schema.ts'
import { MAX_HOURS_OF_BATCH, type NodeReport } from '../../../../node/protocol.ts'
import { fromWire } from '../../../../node/wire.ts'

/** Of each kind, in one report. */
const MOST_ENTRIES = 500

/** Logs that were asked for, lines of one, and characters of a line. */
const MOST_LOGS = 16
const MOST_LINES = 1000
const MOST_LINE = 16 * 1024

/** What a report may be long, and hold in all its arrays together. */
export const REPORT_LIMITS = { maxBytes: 1024 * 1024, maxItems: 10_000 }

const count = (example: number) => integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, example })
/** In a list; another one is an unknown id wherever it stands. */
const someId = (example: number) => integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, example })
/** Milliseconds since the epoch, within what a date can be. */
const time = () => integer({ minimum: 0, maximum: 8_640_000_000_000_000, example: 1_796_000_000_000 })

/** Text that is shown to people. */
const words = (maxLength: number, example: string) =>
  text({
    maxLength,
    examples: [example],
    rule: `must be at most ${maxLength} characters, without control characters`,
    obeys: (value) => value.isWellFormed() && !/\p{Cc}/u.test(value),
  })

const opaque = (maxLength = 64) =>
  text({
    minLength: 1,
    maxLength,
    examples: ['0193a4c5-7b1e-7000-8000-000000000000'],
    rule: `must be 1 to ${maxLength} letters, digits, hyphens and underscores`,
    obeys: (value) => /^[\w-]+$/.test(value),
  })

const code = () =>
  text({
    maxLength: 64,
    examples: ['archive_damaged'],
    rule: 'must be lower-case words joined by underscores',
    obeys: (value) => /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(value),
  })

const path = () =>
  text({
    maxLength: 4096,
    examples: ['/srv/ncp/ncp-s12/sites/7'],
    rule: 'must be an absolute path, without control characters',
    obeys: (value) => value.startsWith('/') && value.isWellFormed() && !/\p{Cc}/u.test(value),
  })

const failure = {
  code: code(),
  message: words(1000, 'The archive was damaged on the server; deploy it again'),
  retryable: flag(),
  retry_at: nullableIn(time(), { examples: [null], description: 'Milliseconds since the epoch' }),
}

const site = closed({
  subscription_id: idIn([12]),
  site_id: idIn([7]),
  generation: count(2),
  state: choice(['serving', 'suspended', 'disabled', 'failed', 'removed']),
  document_root: t.Optional(path()),
  repaired: t.Optional(t.Array(words(500, 'the mode of a directory'), { maxItems: 50 })),
  failure: t.Optional(closed(failure)),
})

const release = closed({
  site_id: idIn([7]),
  deployment_id: idIn([31]),
  state: choice(['ready', 'failed']),
  files: t.Optional(count(120)),
  bytes: t.Optional(count(1_048_576)),
  failure: t.Optional(
    closed({
      ...failure,
      entry: t.Optional(nullableIn(words(4096, 'x'), { examples: [null], description: 'The entry to blame' })),
      line: t.Optional(nullableIn(count(1), { examples: [null], description: 'Its number, from 1' })),
    }),
  ),
})

const certificate = closed({
  site_id: idIn([7]),
  certificate_id: idIn([3]),
  state: choice(['requested', 'serving', 'key_missing']),
  csr: t.Optional(
    text({
      minLength: 1,
      maxLength: 65_536,
      examples: ['MIIBBzCBrwIBADAA…'],
      description: 'PKCS #10 (DER)',
      rule: 'must be base64',
      obeys: (value) => /^[A-Za-z0-9+/]+={0,2}$/.test(value),
    }),
  ),
})

const node = closed({
  held: nullable(
    closed({ code: choice(['new_epoch', 'too_many_absent']), message: words(1000, 'The panel was restored') }),
  ),
  orphans: list(someId(9), { maxItems: MOST_ENTRIES, examples: [[]] }),
  highest_subscription_id: count(12),
})

const description = closed({
  version: words(64, '1.4.0'),
  php_versions: list(
    text({
      maxLength: 8,
      examples: ['8.4'],
      rule: 'must be such as 8.4',
      obeys: (value) => /^\d\.\d{1,2}$/.test(value),
    }),
    { maxItems: 20, examples: [['8.4', '8.2']], description: 'The newest first' },
  ),
  time: time(),
})

const logAnswer = closed({
  id: opaque(),
  lines: t.Array(text({ maxLength: MOST_LINE }), { maxItems: MOST_LINES }),
})

const usage = closed({
  id: opaque(),
  hours: t.Array(
    closed({
      site_id: idIn([7]),
      hour: time(),
      requests: count(10),
      bytes: count(10_000),
      statuses: t.Array(count(10), { minItems: 5, maxItems: 5 }),
    }),
    { maxItems: MAX_HOURS_OF_BATCH },
  ),
})

export const Report = closed({
  sites: t.Array(site, { maxItems: MOST_ENTRIES, examples: [[]] }),
  releases: t.Array(release, { maxItems: MOST_ENTRIES, examples: [[]] }),
  removed_subscriptions: list(someId(12), { maxItems: MOST_ENTRIES, examples: [[]] }),
  node: t.Optional({ ...node, examples: [{ held: null, orphans: [], highest_subscription_id: 12 }] }),
  description: t.Optional({
    ...description,
    examples: [{ version: '1.4.0', php_versions: ['8.4', '8.2'], time: 1_796_000_000_000 }],
  }),
  log_answers: t.Optional(t.Array(logAnswer, { maxItems: MOST_LOGS, examples: [[]] })),
  usage: t.Optional({ ...usage, examples: [{ id: '0193a4c5-7b1e-7000-8000-000000000000', hours: [] }] }),
  certificates: t.Optional(t.Array(certificate, { maxItems: MOST_ENTRIES, examples: [[]] })),
  challenges: t.Optional(
    t.Array(closed({ site_id: idIn([7]), token: opaque(256) }), { maxItems: MOST_ENTRIES, examples: [[]] }),
  ),
  sizes: t.Optional(
    t.Array(closed({ site_id: idIn([7]), bytes: count(1_048_576), files: count(120) }), {
      maxItems: MOST_ENTRIES,
      examples: [[]],
    }),
  ),
  subscription_sizes: t.Optional(
    t.Array(
      closed({
        subscription_id: idIn([12]),
        bytes: count(1_048_576),
        enforced: choice(['kernel', 'measured'], 'Who keeps it within its limit'),
      }),
      { maxItems: MOST_ENTRIES, examples: [[]] },
    ),
  ),
})

/** @throws AppError `validation_error` for an entry that lacks what its state needs */
export function toReport(body: typeof Report.static): NodeReport {
  for (const [index, { state, document_root: root, failure }] of body.sites.entries()) {
    const isFailed = state === 'failed'
    if (isFailed && !failure) throw lacks(`sites.${index}.failure`)
    if (!isFailed && state !== 'removed' && root === undefined) throw lacks(`sites.${index}.document_root`)
  }
  for (const [index, { state, files, bytes, failure }] of body.releases.entries()) {
    if (state === 'failed' && !failure) throw lacks(`releases.${index}.failure`)
    if (state === 'ready' && (files === undefined || bytes === undefined)) throw lacks(`releases.${index}.files`)
  }
  for (const [index, { state, csr }] of (body.certificates ?? []).entries()) {
    if (state === 'requested' && csr === undefined) throw lacks(`certificates.${index}.csr`)
  }
  return fromWire(body) as NodeReport
}

const lacks = (field: string) => new AppError('validation_error', `${field}: is required in this state`)
