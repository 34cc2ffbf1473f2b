/** Writes the types of the API, from its OpenAPI document, to `page/dist/api.ts`. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import typescript from 'typescript-5'
import { routesToDescribe } from '../src/app.ts'
import { openApiYaml } from '../src/docs/yaml.ts'

const path = join(import.meta.dir, 'dist/api.ts')

/** openapi-typescript prints with the compiler's API, which TypeScript has had in JavaScript until version 5. */
Bun.plugin({
  name: 'typescript-5',
  setup: ({ module }) => {
    module('typescript', () => ({ loader: 'object', exports: { ...typescript, default: typescript } }))
  },
})

const yaml = await openApiYaml(routesToDescribe())
const origin = `// From the document ${Bun.SHA256.hash(yaml, 'hex')}\n`
if (!existsSync(path) || !readFileSync(path, 'utf8').startsWith(origin)) {
  const { default: openapiTS, astToString } = await import('openapi-typescript')
  await Bun.write(path, origin + astToString(await openapiTS(yaml)))
}
