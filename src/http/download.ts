/** Answers with a file as it is, which the kernel sends from the disk. */
import { AppError } from '../core/errors.ts'
import { BYTES } from './operation.ts'
import type { RequestContext } from './request-context.ts'

/** @throws AppError `not_found` where there is no such file */
export async function sendFile({ responseHeaders }: RequestContext, path: string): Promise<Response> {
  const file = Bun.file(path)
  if (!(await file.exists())) throw new AppError('not_found')
  responseHeaders.set('content-type', BYTES)
  return new Response(file)
}
