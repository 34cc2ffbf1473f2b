/** The interactive reference at `/api/docs`: an embedded Swagger UI, and the OpenAPI document as YAML. */
import { type AnyElysia, Elysia } from 'elysia'
import favicon from 'swagger-ui-dist/favicon-32x32.png' with { type: 'file' }
import stylesheet from 'swagger-ui-dist/swagger-ui.css' with { type: 'file' }
import script from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'file' }
import { forwardedPrefix } from '../http/prefix.ts'
import { redirect } from '../http/redirect.ts'
import { type RequestContext, requestContext } from '../http/request-context.ts'
import { type StaticFile, type StaticFileOptions, staticFile } from '../http/static-file.ts'
import { openApiYaml } from './yaml.ts'

const PATH = '/api/docs'

/** Nothing is loaded from or sent to another origin. Swagger UI sets style attributes and has images in its CSS. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Links are relative, so they work under any prefix of a proxy. */
const page = (versions: Record<'script' | 'start' | 'stylesheet' | 'icon', string>) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>ncp API</title>
    <link rel="icon" type="image/png" href="docs/favicon.png?v=${versions.icon}">
    <link rel="stylesheet" href="docs/swagger-ui.css?v=${versions.stylesheet}">
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="docs/swagger-ui-bundle.js?v=${versions.script}"></script>
    <script src="docs/start.js?v=${versions.start}"></script>
  </body>
</html>
`

const start = `SwaggerUIBundle({
  url: new URL('docs/openapi.yaml', document.baseURI).href,
  dom_id: '#swagger-ui',
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  validatorUrl: null,
})
`

/** As the server in the document: see `forwardedPrefix`. */
const SERVER = /^( *- url: )\/$/m

const JAVASCRIPT = 'text/javascript; charset=utf-8'
const YAML = 'application/yaml; charset=utf-8'

/** The parts of the page, each loaded on demand. */
function files(readDocument: () => Promise<string>) {
  const file = (contentType: string, load: StaticFileOptions['load'], isCompressed = false) =>
    staticFile({ contentType, load, isCompressed, contentSecurityPolicy: CONTENT_SECURITY_POLICY })
  const embedded = (path: string) => () => Bun.file(path).bytes()

  const assets = {
    script: file(JAVASCRIPT, embedded(script)),
    start: file(JAVASCRIPT, async () => start),
    stylesheet: file('text/css; charset=utf-8', embedded(stylesheet)),
    icon: file('image/png', embedded(favicon), true),
  }
  return {
    ...assets,
    document: file(YAML, readDocument),
    page: file('text/html; charset=utf-8', async () => {
      const [script, start, stylesheet, icon] = await Promise.all([
        assets.script.version(),
        assets.start.version(),
        assets.stylesheet.version(),
        assets.icon.version(),
      ])
      return page({ script, start, stylesheet, icon })
    }),
  }
}

type Context = { context: RequestContext; query: { v?: string } }

/** @param described the routes that the document covers */
export function docsRoutes(described: AnyElysia) {
  let text: Promise<string> | undefined
  function readDocument(): Promise<string> {
    text ??= openApiYaml(described)
    return text
  }
  const { script, start, stylesheet, icon, document, page } = files(readDocument)
  const hidden = { detail: { hide: true } }
  const sent = (file: StaticFile) => (context: Context) => file.send(context.context, context.query.v)

  async function sendDocument({ context }: Context): Promise<Response> {
    const prefix = forwardedPrefix(context.request)
    if (prefix === '') return document.send(context)
    const load = async () => (await readDocument()).replace(SERVER, `$1${prefix}`)
    // Clients can make up prefixes: nothing is cached or compressed for them.
    const isCompressed = true
    return staticFile({ contentType: YAML, contentSecurityPolicy: CONTENT_SECURITY_POLICY, load, isCompressed }).send(
      context,
    )
  }

  return (
    new Elysia({ strictPath: true })
      .use(requestContext)
      .get(PATH, ({ context }) => page.send(context), hidden)
      .get(`${PATH}/start.js`, sent(start), hidden)
      .get(`${PATH}/swagger-ui-bundle.js`, sent(script), hidden)
      .get(`${PATH}/swagger-ui.css`, sent(stylesheet), hidden)
      .get(`${PATH}/favicon.png`, sent(icon), hidden)
      .get(`${PATH}/openapi.yaml`, sendDocument, hidden)
      // Browsers request it on their own.
      .get('/favicon.ico', sent(icon), hidden)
      .get(`${PATH}/`, ({ context }) => redirect(context, '../docs'), hidden)
  )
}
