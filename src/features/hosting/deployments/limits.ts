/** What uploads and unpacking may take, for every subscription alike; those of a subscription are in `node/limits.ts`. */
const MEBIBYTE = 1024 * 1024

export const LIMITS = {
  /** Of a release, unpacked: files, links and folders together. */
  unpack: { maxBytes: 2048 * MEBIBYTE, maxFiles: 100_000, maxSeconds: 300 },
  /** Uploads at a time, and in all. */
  uploadsPerSubscription: 2,
  uploads: 16,
  /** Archives of a subscription that wait to be unpacked: they are the one thing here that takes space and is not counted. */
  waiting: 10,
  /** What an upload must leave free on the disk, besides itself and a tenth of it. */
  freeBytes: 1024 * MEBIBYTE,
} as const

export type UploadLimits = { readonly [Name in Exclude<keyof typeof LIMITS, 'unpack'>]: number }
