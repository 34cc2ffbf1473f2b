/** `ncp openapi`: the OpenAPI document as a panel serves it, without a panel. */
import type { Command } from 'commander'
import { printDocument } from './output.ts'

export function addOpenApi(program: Command): void {
  program
    .command('openapi')
    .description('print the OpenAPI document of the API in YAML, as the panel serves it; no panel has to be running')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: true }) => {
      const { routesToDescribe } = await import('../app.ts')
      const routes = routesToDescribe()
      if (!json) {
        const { openApiYaml } = await import('../docs/yaml.ts')
        return printDocument(await openApiYaml(routes))
      }
      const { openApiDocument } = await import('../docs/openapi.ts')
      printDocument(`${JSON.stringify(await openApiDocument(routes), null, 2)}\n`)
    })
}
