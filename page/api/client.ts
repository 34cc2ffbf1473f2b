/** The client of the API, typed from its OpenAPI document. */
import createClient from 'openapi-fetch'
import { base } from '../base.ts'
import type { components, paths } from '../dist/api.ts'
import { problemOf } from './problem.ts'
import { send } from './send.ts'

export type Schemas = components['schemas']

export const api = createClient<paths>({ baseUrl: location.origin + base, fetch: send })

type Told = { error: string; message: string }
type Answer<Data> = { data?: { data: Data } | undefined; error?: Told | undefined; response: Response }
/** Of a request that only does something: its `data` is null. */
type Done = { error?: Told | undefined; response: Response }

/** Waits until it is done. @throws Problem */
export async function done(call: Promise<Done>): Promise<void> {
  const { error, response } = await call
  if (!response.ok) throw problemOf(response, error)
}

/** @returns the data of an answer. @throws Problem */
export async function dataOf<Data>(call: Promise<Answer<Data>>): Promise<Data> {
  const { data, error, response } = await call
  if (data === undefined) throw problemOf(response, error)
  return data.data
}

/** Data, with what a change of it names as the version that it is made to. */
export type Versioned<Data> = { value: Data; etag: string }

/** @throws Problem */
export async function versionOf<Data>(call: Promise<Answer<Data>>): Promise<Versioned<Data>> {
  const answer = await call
  return { value: await dataOf(Promise.resolve(answer)), etag: answer.response.headers.get('etag') ?? '' }
}

export type ListPage<Item> = { items: Item[]; next: string | undefined }

/** A page of a list, and the cursor of the next one. @throws Problem */
export async function pageOf<Item>(call: Promise<Answer<Item[]>>): Promise<ListPage<Item>> {
  const answer = await call
  const items = await dataOf(Promise.resolve(answer))
  const [, next] = /[?&]cursor=([^&>]+)[^>]*>; rel="next"/.exec(answer.response.headers.get('link') ?? '') ?? []
  return { items, next: next === undefined ? undefined : decodeURIComponent(next) }
}

/** Identifies what a form is to create, however often it is sent. */
export function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
