/** `ncp deploy`: packs a directory, uploads it and waits until its site serves it; or goes back to an earlier deployment. */
import { type Command, InvalidArgumentError } from 'commander'
import type { TellProgress } from '../backup/progress.ts'
import type { Deployment } from '../client/deploy.ts'
import type { Panel } from '../client/panel.ts'
import type { Site } from '../client/sites.ts'
import { connect, type ProfileOption, withProfile } from './client.ts'
import { hasScreen, print, printError, printJson } from './output.ts'
import { withProgress } from './progress.ts'
import { count, humanBytes } from './units.ts'

type DeployOptions = ProfileOption & {
  site: string
  rollback?: true
  to?: number
  include: string[]
  message?: string
  commit?: string
  timeout: number
  json?: true
}

const TIMEOUT_SECONDS = 300

export function addDeploy(program: Command): void {
  const deploy = withProfile(program.command('deploy'))
    .description('deploy a directory to a site, and wait until it is served')
    .argument('[directory]', 'what the site is to serve; .ncpignore in it leaves files out, like .gitignore')
    .requiredOption('--site <name>', 'domain or id of the site')
    .option('--rollback', 'serve the deployment before the active one')
    .option('--to <number>', 'with --rollback: the deployment with this number', readNumber)
    .option(
      '--include <pattern>',
      'a file that is left out otherwise, such as .env.production; more than once',
      append,
      [],
    )
    .option('--message <text>', 'what has changed, for people')
    .option('--commit <hash>', 'of the version control system')
    .option('--timeout <seconds>', 'how long to wait until it is served', readNumber, TIMEOUT_SECONDS)
    .option('--json', 'print JSON')
    .action(async (directory: string | undefined, options: DeployOptions) => {
      const { rollback, to, include, message, commit } = options
      if ((directory === undefined) === (rollback === undefined)) {
        deploy.error('error: give either a directory or --rollback')
      }
      if (to !== undefined && !rollback) deploy.error('error: --to goes with --rollback')
      if (rollback && (include.length > 0 || message || commit)) {
        deploy.error('error: --include, --message and --commit go with a directory')
      }
      await withProgress(options.json === true, async (tell) => {
        const panel = await connect(options)
        const { findSite } = await import('../client/sites.ts')
        const { rollBack, untilServed } = await import('../client/deploy.ts')
        const site = await findSite(panel, options.site)
        const started =
          directory === undefined
            ? await rollBack(panel, site, to)
            : await send(panel, site, { ...options, directory, tell })
        await untilServed(panel, site, started, {
          timeoutMs: options.timeout * 1000,
          tell: (status) => tell(`deployment ${started.number} is ${status}`),
        })
        // Once more: its certificate may have changed what leads to it.
        return { site: await findSite(panel, `${site.id}`), deployment: started }
      }).then((served) => report(served, options.json))
    })
}

type Sending = DeployOptions & { directory: string; tell: TellProgress }

async function send(panel: Panel, site: Site, options: Sending): Promise<Deployment> {
  const { directory, include, message, commit, tell } = options
  const { filesOf } = await import('../client/files.ts')
  const { packFiles } = await import('../client/pack.ts')
  const { upload } = await import('../client/deploy.ts')
  const files = filesOf(directory, include)
  const archive = await packFiles(directory, files, (packed) => tell(`packing ${packed} of ${files.length}`))
  const step = 'uploading'
  const deployment = await upload(panel, site, {
    archive,
    message,
    commit,
    idempotencyKey: crypto.randomUUID(),
    tell: (sentBytes) => tell(step, sentBytes, archive.bytes),
  })
  if (!options.json && !hasScreen()) {
    printError(`uploaded ${count(archive.files, 'file')}, ${humanBytes(archive.bytes)} packed`)
  }
  return deployment
}

/** The address alone on standard output: what a pipeline wants to have in a variable. */
function report({ site, deployment }: { site: Site; deployment: Deployment }, json: true | undefined): void {
  const [url = ''] = site.urls
  if (json) printJson({ url, site: site.domain, deployment: deployment.number })
  else print(url === '' ? site.domain : url)
}

const append = (value: string, others: string[]) => [...others, value]

function readNumber(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('It must be a number from 1 to 999999.')
  return Number(text)
}
