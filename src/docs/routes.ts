/** The interactive reference at `/api/docs`: Swagger UI out of the binary, and the OpenAPI document as YAML. */
import { type AnyElysia, Elysia } from 'elysia'
import favicon from 'swagger-ui-dist/favicon-32x32.png' with { type: 'file' }
import stylesheet from 'swagger-ui-dist/swagger-ui.css' with { type: 'file' }
import script from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'file' }
import { type Visit, visit } from '../http/visit.ts'

const PATH = '/api/docs'

/** Nothing is loaded from, or sent to, another origin. Swagger UI sets style attributes and has images in its CSS. */
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

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>ncp API</title>
    <link rel="icon" type="image/png" href="${PATH}/favicon.png">
    <link rel="stylesheet" href="${PATH}/swagger-ui.css">
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="${PATH}/swagger-ui-bundle.js"></script>
    <script src="${PATH}/start.js"></script>
  </body>
</html>
`

const start = `SwaggerUIBundle({
  url: '${PATH}/openapi.yaml',
  dom_id: '#swagger-ui',
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  validatorUrl: null,
})
`

/** Loaded when somebody asks for it: the start need not wait for what makes the document. */
async function describe(routes: AnyElysia): Promise<string> {
  const { openApiDocument } = await import('./openapi.ts')
  return quoteTimes(Bun.YAML.stringify(await openApiDocument(routes), null, 2))
}

/** YAML 1.1, which many programs still read, makes dates of bare times; the examples of the document are strings. */
function quoteTimes(yaml: string): string {
  return yaml.replaceAll(/(?<=^ *(?:- |[\w-]+: )+)\d{4}-\d\d-\d\d\S*$/gm, '"$&"')
}

/** @param described the routes that the document describes */
export function docsRoutes(described: AnyElysia) {
  let yaml: Promise<string> | undefined
  const hidden = { detail: { hide: true } }

  return new Elysia({ prefix: PATH })
    .use(visit)
    .get('', ({ visit }) => serve(visit, page, 'text/html; charset=utf-8'), hidden)
    .get('/start.js', ({ visit }) => serve(visit, start, 'text/javascript; charset=utf-8'), hidden)
    .get(
      '/swagger-ui-bundle.js',
      ({ visit }) => serve(visit, Bun.file(script), 'text/javascript; charset=utf-8'),
      hidden,
    )
    .get('/swagger-ui.css', ({ visit }) => serve(visit, Bun.file(stylesheet), 'text/css; charset=utf-8'), hidden)
    .get('/favicon.png', ({ visit }) => serve(visit, Bun.file(favicon), 'image/png'), hidden)
    .get(
      '/openapi.yaml',
      async ({ visit }) => {
        yaml ??= describe(described)
        return serve(visit, await yaml, 'application/yaml; charset=utf-8')
      },
      hidden,
    )
}

function serve({ responseHeaders }: Visit, body: string | Blob, contentType: string): Response {
  responseHeaders.set('content-type', contentType)
  responseHeaders.set('content-security-policy', CONTENT_SECURITY_POLICY)
  responseHeaders.set('cache-control', 'no-cache')
  return new Response(body)
}
