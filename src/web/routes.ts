/** The page for people: the same document at each of its paths, and the files that it loads. */
import { type AnyElysia, Elysia } from 'elysia'
import { AppError } from '../core/errors.ts'
import { type RequestContext, requestContext } from '../http/request-context.ts'
import { assets, pages } from './files.ts'

type Context = { context: RequestContext; params: { name: string } }

const hidden = { detail: { hide: true } }

function sendAsset({ context, params }: Context): Promise<Response> {
  const file = assets.get(params.name)
  if (!file) throw new AppError('not_found')
  return file.send(context)
}

export function webRoutes(): AnyElysia {
  const routes = new Elysia({ strictPath: true }).use(requestContext).get('/assets/:name', sendAsset, hidden)
  for (const [path, page] of pages) routes.get(path, ({ context }) => page.send(context), hidden)
  return routes
}
