/** Computes argon2id: with a native addon where there is one for this machine, with Bun's own implementation elsewhere. */
import { lowerPoolPriority } from './thread-priority.ts'

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

const ARGON2ID = 2

export const bunArgon2: Argon2 = {
  hash: (password, costs) => givingWay(Bun.password.hash(password, { algorithm: 'argon2id', ...costs })),
  verify: (password, hash) => givingWay(Bun.password.verify(password, hash)),
}

/**
 * The addon takes two fifths of the time, at the same parameters. It is loaded at the first password: the start need not
 * wait for it. In the executable it is a file inside, which the runtime puts into the temporary directory for a moment; where
 * that is mounted `noexec`, or there is no addon for this machine, passwords are slower and nothing else changes.
 */
export async function loadArgon2(): Promise<Argon2> {
  try {
    const addon = await import('@node-rs/argon2')
    const native: Argon2 = {
      hash: (password, costs) => givingWay(addon.hash(password, { algorithm: ARGON2ID, parallelism: 1, ...costs })),
      verify: (password, hash) => givingWay(addon.verify(hash, password)),
    }
    return native
  } catch {
    return bunArgon2
  }
}

/** The thread that computes is there once the computation has begun. */
function givingWay<Result>(computing: Promise<Result>): Promise<Result> {
  lowerPoolPriority()
  return computing
}
