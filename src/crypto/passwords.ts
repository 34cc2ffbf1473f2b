/** Hashes passwords with argon2id at OWASP's parameters, in a bounded queue, with the same work for every kind of refusal. */
import { AppError } from '../core/errors.ts'
import { type Argon2, type Argon2Costs, type Argon2Options, loadArgon2 } from './argon2.ts'

/** OWASP Password Storage Cheat Sheet: m = 19 MiB, t = 2, p = 1 (Bun's p is always 1). */
export const ARGON2ID_COSTS: Argon2Costs = { memoryCost: 19_456, timeCost: 2 }

/** A hash that no password has, at the same parameters: what an unknown user's password is compared with. */
function decoyHash({ memoryCost, timeCost }: Argon2Costs): string {
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=1$${'A'.repeat(43)}$${'A'.repeat(43)}`
}

const ARGON2ID_HASH = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=1\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$/
/** Room for parameters that were higher once, and not for one hash that takes a gigabyte. */
const MOST_EXPENSIVE = { memoryCost: 131_072, timeCost: 10 }

/**
 * Where a password waits for its turn. Known clients come first, and have places that strangers cannot take: a flood of
 * logins from many addresses would otherwise lock all users out.
 */
export type Line = 'known' | 'unknown'

export type Passwords = {
  /** For authenticated clients. @throws AppError `unavailable` when their line is full */
  hash(password: string): Promise<string>
  /**
   * Costs one hash whatever it is given: an empty password and a missing hash are compared with a decoy.
   *
   * @param load gives the stored hash, or null where there is no such user or password. Called when it is this
   * password's turn: what was refused by a full queue has counted nothing and read nothing.
   * @returns the stored hash when the password is the one it was made of
   * @throws AppError `unavailable` when the line is full
   */
  verify(password: string, line: Line, load: () => Promise<string | null>): Promise<string | undefined>
  /** Whether a stored hash was made with weaker parameters than today's. */
  isOutdated(hash: string): boolean
  /** Hashes done or under way, for tests that must not measure time. */
  readonly hashed: number
  /** Hashes under way. */
  readonly running: number
  /** Passwords that wait for their turn. */
  readonly waiting: number
}

/**
 * @param limits.concurrent hashes at one time. Those beyond the cores wait for a thread of the runtime
 * @param limits.queued hashes that may wait in each line; beyond, the caller gets 503 (ASVS V15.2.2)
 * @param costs OWASP's unless stated
 */
export function createPasswords(
  limits: { concurrent: number; queued: number },
  options: Argon2Options = { isNative: true, givesWay: true },
  costs: Argon2Costs = ARGON2ID_COSTS,
): Passwords {
  const decoy = decoyHash(costs)
  const lines: Record<Line, (() => void)[]> = { known: [], unknown: [] }
  let running = 0
  let hashed = 0
  let argon2: Promise<Argon2> | undefined

  function loaded(): Promise<Argon2> {
    argon2 ??= loadArgon2(options)
    return argon2
  }

  async function inTurn<T>(line: Line, work: () => Promise<T>): Promise<T> {
    if (running >= limits.concurrent) {
      const waiting = lines[line]
      if (waiting.length >= limits.queued) throw new AppError('unavailable', undefined, { 'retry-after': '2' })
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else {
      running++
    }
    try {
      hashed++
      return await work()
    } finally {
      // The place goes to the next in line directly, so that no newcomer takes it.
      const next = lines.known.shift() ?? lines.unknown.shift()
      if (next) next()
      else running--
    }
  }

  return {
    hash: (password) => inTurn('known', async () => (await loaded()).hash(normalizePassword(password), costs)),
    verify: (password, line, load) =>
      inTurn(line, async () => {
        const hash = await load()
        const { verify } = await loaded()
        const ofNobody = () => verify('decoy', decoy).then(() => false)
        // What is refused without being computed would tell accounts apart by time. Bun does that to an empty password.
        const comparable = password !== '' && hash !== null && isArgon2id(hash)
        const matches = await (comparable ? verify(normalizePassword(password), hash).catch(ofNobody) : ofNobody())
        return hash !== null && matches ? hash : undefined
      }),
    isOutdated(hash) {
      const { memoryCost, timeCost } = costsOf(hash)
      return memoryCost < costs.memoryCost || timeCost < costs.timeCost
    },
    get hashed() {
      return hashed
    },
    get running() {
      return running
    },
    get waiting() {
      return lines.known.length + lines.unknown.length
    },
  }
}

/**
 * The one form in which passwords are hashed and compared: NFC, so that composed and decomposed characters log in alike
 * (NIST SP 800-63B-4 §3.1.1.2).
 */
export function normalizePassword(password: string): string {
  return password.normalize('NFC')
}

/** Whether it is a hash of ours: someone who can write one must not choose what verifying it costs. */
function isArgon2id(hash: string): boolean {
  const { memoryCost, timeCost } = costsOf(hash)
  return memoryCost <= MOST_EXPENSIVE.memoryCost && timeCost <= MOST_EXPENSIVE.timeCost
}

/** @returns NaN for what is no argon2id hash */
function costsOf(hash: string): { memoryCost: number; timeCost: number } {
  const [, memory, time] = ARGON2ID_HASH.exec(hash) ?? []
  return { memoryCost: Number(memory), timeCost: Number(time) }
}
