/** SIGHUP: reloads what may change while the panel runs; a mistake changes nothing. */
import { type Config, schema } from '../config/schema.ts'
import { fileKeyOf } from '../config/setting.ts'
import type { ProcessLog } from '../log/log.ts'

export type ReloadOptions = {
  /** The settings that the panel was started with. */
  config: Config
  /** @throws ConfigError */
  readConfig(): Promise<Config>
  log: ProcessLog
  /** The log file was rotated away. @throws Error when it cannot be reopened */
  reopenLog(): void
  /** Takes the certificate of these settings, where it can be used. */
  checkCertificate(config: Config): Promise<void>
}

/** Read again by `reload`; everything else holds from start to end. */
const ADJUSTABLE = new Set<keyof Config>(['logLevel', 'tlsCert', 'tlsKey'])

/** @returns what to call at the signal; it never throws */
export function createReload({ config, readConfig, log, reopenLog, checkCertificate }: ReloadOptions) {
  return async function reload(): Promise<void> {
    try {
      reopenLog()
    } catch (error) {
      log.error({ reason: (error as Error).message }, 'log file not reopened; the old one stays in use')
    }
    let next: Config
    try {
      next = await readConfig()
    } catch (error) {
      log.error(
        { problems: (error as Error).message.split('\n') },
        'configuration not reloaded; the old one stays in use',
      )
      return
    }
    log.setLevel(next.logLevel)
    await checkCertificate(next)
    const waiting = (Object.keys(schema) as (keyof Config)[]).filter(
      (key) => !ADJUSTABLE.has(key) && !Bun.deepEquals(next[key], config[key]),
    )
    const restartFor = waiting.map((key) => fileKeyOf(schema[key]))
    if (waiting.length > 0)
      log.warn({ settings: restartFor }, 'some changed settings take effect only at the next start')
    log.info({ logLevel: next.logLevel }, 'configuration reloaded')
  }
}
