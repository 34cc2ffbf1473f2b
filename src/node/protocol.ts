/** What the panel and a node say to each other: the state that is wanted, whole, and what the node has observed. */
import type { Variable } from './environment.ts'
import type { PhpLimits, SitePhp } from './php.ts'

/** A subscription as it should be on its node, with all its sites. */
export type DesiredSubscription = {
  id: number
  /** `deleting`: the panel knows it no more; its sites are all `deleting` too. */
  state: 'active' | 'suspended' | 'deleting'
  /** Absent: the defaults. */
  php?: PhpLimits
  /** Of those who may use SFTP: type and key of each, as in a file of OpenSSH. Absent: nobody. */
  sshKeys?: string[]
  sites: DesiredSite[]
}

export type DesiredSite = {
  id: number
  /** Reports name it, so that the panel knows which of its wishes they answer. */
  generation: number
  /**
   * `deleting`: to be removed, files and all. Nothing else removes a site: one that is absent from the state is served no
   * more, and kept.
   */
  state: 'serving' | 'disabled' | 'deleting'
  /** The domain, then the aliases: lower-case, in punycode. */
  names: string[]
  kind: 'static' | 'php'
  /** Such as 8.4; null for a static site. */
  phpVersion: string | null
  /** Absent: it sets nothing. */
  php?: SitePhp
  /** What its PHP finds in its environment. Absent: nothing but what every site has. */
  environment?: Variable[]
  /** Whether unknown paths give index.html. */
  spa: boolean
  /** What is served of a release; null: its directory `public` if it has one, else all of it. */
  publicDir: string | null
  /** Must answer 2xx before a release is served; null or absent: none. */
  healthPath?: string | null
  /** The number of the release to serve; null before the first. */
  release: number | null
  /** Archives to unpack. */
  toUnpack: DesiredRelease[]
  /** Releases to keep on disk, the one that is served among them. */
  kept: number[]
  /** What is to be done for its certificates; absent: nothing, and there are none. */
  tls?: DesiredTls
}

/** The key of a certificate is made by its node, and never leaves it. */
export type DesiredTls = {
  /**
   * To be answered at `/.well-known/acme-challenge/TOKEN` over HTTP, as text, for every name of the site, before any redirect
   * and in every state of the site.
   */
  challenges: { token: string; answer: string }[]
  /** Certificates to make a key and a request for. */
  requests: { id: number; names: string[] }[]
  certificates: DesiredCertificate[]
}

export type DesiredCertificate = {
  id: number
  /** Of the site: to be served with it. A name stands in one certificate at most; without any, only the key is kept. */
  names: string[]
  /** PEM: the certificate, then the authorities between it and a known one. */
  chain: string
  /** PEM; null: the one that the node has made for this id. */
  key: string | null
}

export type DesiredRelease = {
  deploymentId: number
  /** Counts the deployments of the site, from 1: the name of its directory. */
  number: number
  /** Of the archive, in hex. */
  sha256: string
  archiveBytes: number
  /** What it may become, unpacked; absent: the node's own limits. */
  limits?: ReleaseLimits
  /** A directory that it must have, since its site is to serve that once it is unpacked; null if none is named. */
  publicDir: string | null
}

/** Of a release, unpacked: the contents of its files, and how many files, links and folders. */
export type ReleaseLimits = { maxBytes: number; maxFiles: number }

/** Why a site is not served, or a release not unpacked, in words for its customer. */
export type Failure = {
  /** Stable, for programs: lower-case words joined by underscores. */
  code: string
  message: string
  /** Whether the node tries again by itself. */
  retryable: boolean
  /** When, in milliseconds since the epoch; null if it does not, or not at a set time. */
  retryAt: number | null
}

/** Why a release was not unpacked. */
export type ReleaseFailure = Failure & {
  /** The entry of the archive that is to blame, and its number from 1; null or absent where it is the whole archive. */
  entry?: string | null
  line?: number | null
}

export type SiteReport = {
  subscriptionId: number
  siteId: number
  generation: number
} & (
  | {
      state: 'serving' | 'suspended' | 'disabled'
      /** Absolute, on the node. */
      documentRoot: string
      /** What someone else had changed, and was put right: words for the operator. Absent: nothing. */
      repaired?: string[]
    }
  | { state: 'failed'; failure: Failure }
  /** Its files are gone. */
  | { state: 'removed' }
)

export type ReleaseReport = { siteId: number; deploymentId: number } & (
  | { state: 'ready'; files: number; bytes: number }
  | { state: 'failed'; failure: ReleaseFailure }
)

/** Why a node serves on as before and does nothing of what it is told, until its operator accepts it. */
export type Held = {
  /** `new_epoch`: the panel's database is another one, or was restored. */
  code: 'new_epoch' | 'too_many_absent'
  message: string
}

/** A node as a whole. */
export type NodeStatus = {
  /** null: it does what it is told. */
  held: Held | null
  /** Sites with files that the panel does not name: served no more, and kept. */
  orphans: number[]
  /** Of all that it has ever seen: no subscription may be given an id up to this one again. */
  highestSubscriptionId: number
}
export type CertificateReport = {
  siteId: number
  certificateId: number
} /** PKCS #10 in base64 (DER), for exactly the names that were asked for. */ & (
  | { state: 'requested'; csr: string }
  /** Each of its names was seen to be served with it. */
  | { state: 'serving' }
  /** Another one has to be requested. */
  | { state: 'key_missing' }
)

/** What a node observed. Hostile input: it may lie about its own sites, and about nothing else. */
export type NodeReport = {
  sites: SiteReport[]
  releases: ReleaseReport[]
  /** Subscriptions that were `deleting`, and of which nothing is left. */
  removedSubscriptions: number[]
  usage?: UsageBatch
  sizes?: SiteSize[]
  subscriptionSizes?: SubscriptionSize[]
  logAnswers?: LogAnswer[]
  /** Absent: as reported last. The panel's own process reports none. */
  node?: NodeStatus
  /** Sent by the link itself. */
  description?: NodeDescription
  certificates?: CertificateReport[]
  /** Those that are answered. */
  challenges?: { siteId: number; token: string }[]
}

/** What a node runs, and can serve. */
export type NodeDescription = {
  /** Of the program. */
  version: string
  /** That are installed, such as `8.4`, the newest first. */
  phpVersions: string[]
  /** Of its clock, in milliseconds since the epoch. */
  time: number
}

/** Requests to sites that were not reported before. */
export type UsageBatch = {
  /** Random: a batch that is sent again counts once. */
  id: string
  /** At most `MAX_HOURS_OF_BATCH`. */
  hours: HourUsage[]
}

export const MAX_HOURS_OF_BATCH = 500

/** Requests to a site in an hour, or in a part of it. */
export type HourUsage = {
  siteId: number
  /** Its beginning, in milliseconds since the epoch. */
  hour: number
  requests: number
  /** That were sent. */
  bytes: number
  /** How many requests got each class of status, from 1xx to 5xx. */
  statuses: number[]
}

/** What a site takes on the disk of its node. */
export type SiteSize = { siteId: number; bytes: number; files: number }

/** What a subscription takes on the disk of its node: its sites, their logs, and what is in the trash. */
export type SubscriptionSize = {
  subscriptionId: number
  bytes: number
  /** Whether the kernel keeps it within its limit, or only deployments are refused. */
  enforced: 'kernel' | 'measured'
}

export type LogKind = 'access' | 'error' | 'php'

/** The last lines of a log, which someone is waiting for. A node is asked once: whoever still waits asks again. */
export type LogRequest = {
  /** Random. */
  id: string
  siteId: number
  kind: LogKind
  /** The most lines that are wanted. */
  lines: number
  /** Text that each of them has, whatever its case; null for any. */
  search: string | null
}

/** The oldest line first. */
export type LogAnswer = { id: string; lines: string[] }

export type DesiredChanges = {
  /** Of the panel, for ever; absent within its own process. */
  installationId?: string
  /** Random; another one after each `backup restore` and each move of the database. */
  epoch?: string
  /** To go on from. */
  revision: number
  subscriptions: DesiredSubscription[]
  /** Whether more is known already. */
  hasMore: boolean
  logRequests?: LogRequest[]
  /** Absent: as told last. The panel's own process reads the settings itself. */
  siteLogs?: SiteLogRules
}

/** What holds for the logs of all sites. */
export type SiteLogRules = {
  /** For which files are kept. */
  days: number
  /** Whether the addresses of visitors are cut to their networks before they are written. */
  shortAddresses: boolean
}

/** The panel, as a node sees it: in the same process, or over HTTP. */
export type NodeLink = {
  /** What changed after a revision, the oldest first, in pages; everything after 0. */
  changesAfter(revision: number): Promise<DesiredChanges>
  /** Resolves when there may be something after a revision, or when aborted. */
  waitForChange(revision: number, signal: AbortSignal): Promise<void>
  /** @throws Error when the panel does not take it; all of it may be sent again */
  report(report: NodeReport): Promise<void>
}

/** Where a node gets the archives that it unpacks. */
export type ArchiveSource = {
  /** @returns undefined where the panel has no such archive for this node; its bytes are yet to be checked */
  archive(sha256: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array> | undefined>
}
