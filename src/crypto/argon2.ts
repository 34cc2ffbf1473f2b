/** Computes argon2id, with a native addon where there is one for this machine, else with Bun's own implementation. */
import { lowerPoolPriority } from '../system/thread-priority.ts'

export type Argon2Costs = {
  /** KiB. */
  memoryCost: number
  timeCost: number
}

/** Both read what the other wrote: PHC strings with `p=1`. */
export type Argon2 = {
  hash(password: string, costs: Argon2Costs): Promise<string>
  /** @throws Error for a hash that is malformed */
  verify(password: string, hash: string): Promise<boolean>
}

export type Argon2Options = {
  /** Whether the addon may be loaded. */
  isNative: boolean
  /** Whether the threads that compute give way to the event loop. */
  givesWay: boolean
}

const ARGON2ID = 2

export const bunArgon2: Argon2 = {
  hash: (password, costs) => Bun.password.hash(password, { algorithm: 'argon2id', ...costs }),
  verify: (password, hash) => Bun.password.verify(password, hash),
}

export async function loadArgon2({ isNative, givesWay }: Argon2Options): Promise<Argon2> {
  const argon2 = isNative ? await loadAddon() : bunArgon2
  return givesWay ? givingWay(argon2) : argon2
}

/**
 * The addon takes two fifths of the time, at the same parameters. It is loaded at the first password: the start need not
 * wait for it. In the executable it is a file inside, which the runtime puts into the temporary directory for a moment; where
 * that is mounted `noexec`, or there is no addon for this machine, passwords are slower and nothing else changes.
 */
async function loadAddon(): Promise<Argon2> {
  try {
    const addon = await import('@node-rs/argon2')
    const native: Argon2 = {
      hash: (password, costs) => addon.hash(password, { algorithm: ARGON2ID, parallelism: 1, ...costs }),
      verify: (password, hash) => addon.verify(hash, password),
    }
    return native
  } catch {
    return bunArgon2
  }
}

/** The thread that computes is there once the computation has begun. */
function givingWay({ hash, verify }: Argon2): Argon2 {
  function begun<Result>(computing: Promise<Result>): Promise<Result> {
    lowerPoolPriority()
    return computing
  }
  return { hash: (...given) => begun(hash(...given)), verify: (...given) => begun(verify(...given)) }
}
