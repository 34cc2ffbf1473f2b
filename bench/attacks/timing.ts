/**
 * Does the time of a response reveal whether an account exists? Measures login and password reset for every kind
 * of account against an unknown address, in pairs: each round asks for every kind once, in random order, and
 * what counts is the difference within the round. So a machine that is busy for a while disturbs both of a pair.
 *
 *   bun run build && bun bench/attacks/timing.ts [rounds]       300 rounds take about two minutes
 *
 * The last column is what the attacker is after: the chance to be right about which of the two has the account, from one
 * pair of answers. 50 % is a coin. The p-value is that of Wilcoxon's signed-rank test. Ends with 1 when a kind is told
 * apart: a median difference of more than 2 % of an answer and 0.2 ms, with p < 0.001.
 */
import { PASSWORD, quantile, startPanel } from './panel.ts'

const ROUNDS = Number(process.argv[2] ?? 300)
const WARM_UP = 20
const USERS = 10

const panel = await startPanel({
  NCP_LIMIT_LOGIN: '1000000',
  NCP_LIMIT_PASSWORD_RESET: '1000000',
  NCP_LOG_LEVEL: 'error',
})
let failed = false
try {
  const [known, disabled] = ['known', 'disabled'].map((kind) =>
    Array.from({ length: USERS }, (_, i) => `${kind}${i}@example.com`),
  ) as [string[], string[]]
  for (const email of [...known, ...disabled, 'throttled@example.com']) await panel.createUser(email)
  for (const email of disabled) await panel.run(['user', 'disable', email])
  for (let i = 0; i < 15; i++) await login('throttled@example.com', 'wrong password')
  const oneOf = (users: string[], round: number) => users[round % USERS] ?? ''

  await compare('login', {
    'unknown address': (round) => login(`unknown${round}@example.com`, PASSWORD),
    'wrong password': (round) => login(oneOf(known, round), 'wrong password'),
    'empty password': (round) => login(oneOf(known, round), ''),
    'disabled user': (round) => login(oneOf(disabled, round), PASSWORD),
    'throttled for its failures': () => login('throttled@example.com', PASSWORD),
  })
  await compare('password reset', {
    'unknown address': (round) => reset(`unknown${round}@example.com`),
    'known address': (round) => reset(oneOf(known, round)),
    'disabled user': (round) => reset(oneOf(disabled, round)),
  })
} finally {
  await panel.stop()
}
process.exit(failed ? 1 : 0)

function login(email: string, password: string): Promise<Response> {
  return panel.post('/auth/login', { email, password })
}
function reset(email: string): Promise<Response> {
  return panel.post('/auth/password-reset', { email })
}

/** The first kind is the one that the others are compared with. */
async function compare(what: string, kinds: Record<string, (round: number) => Promise<Response>>): Promise<void> {
  const names = Object.keys(kinds)
  const times = new Map<string, number[]>(names.map((name) => [name, []]))
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    for (const name of shuffled(names)) {
      const start = performance.now()
      await (await kinds[name]?.(round + WARM_UP))?.arrayBuffer()
      if (round >= 0) times.get(name)?.push(performance.now() - start)
    }
  }
  const reference = times.get(names[0] ?? '') ?? []
  const usual = quantile(reference, 0.5)
  const rows = names.map((name) => {
    const own = times.get(name) ?? []
    const differences = own.map((time, i) => time - (reference[i] ?? 0))
    const difference = quantile(differences, 0.5)
    const p = signedRank(differences)
    if (p < 0.001 && Math.abs(difference) > Math.max(0.02 * usual, 0.2)) failed = true
    return {
      [what]: name,
      'median ms': quantile(own, 0.5).toFixed(2),
      'p99 ms': quantile(own, 0.99).toFixed(2),
      'median difference ms': difference.toFixed(3),
      'p-value': name === names[0] ? '' : p.toFixed(3),
      'guessed right': name === names[0] ? '' : `${(100 * advantage(differences)).toFixed(1)} %`,
    }
  })
  process.stdout.write(`${Bun.inspect.table(rows)}\n`)
}

function shuffled(names: string[]): string[] {
  return names
    .map((name) => ({ name, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ name }) => name)
}

/** How often the longer of two answers is the same one's. */
function advantage(differences: number[]): number {
  const longer = differences.filter((difference) => difference > 0).length / differences.length
  return Math.max(longer, 1 - longer)
}

/** Wilcoxon's signed-rank test, two-sided, in its normal approximation. */
function signedRank(differences: number[]): number {
  const ranked = differences.filter((difference) => difference !== 0).sort((a, b) => Math.abs(a) - Math.abs(b))
  const n = ranked.length
  if (n === 0) return 1
  const positive = ranked.reduce((sum, difference, i) => sum + (difference > 0 ? i + 1 : 0), 0)
  const z = (positive - (n * (n + 1)) / 4) / Math.sqrt((n * (n + 1) * (2 * n + 1)) / 24)
  return 2 * (1 - normal(Math.abs(z)))
}

/** The normal distribution function (Abramowitz and Stegun 26.2.17), to seven digits. */
function normal(z: number): number {
  const t = 1 / (1 + 0.2316419 * z)
  const tail = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
  return 1 - (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * tail
}
