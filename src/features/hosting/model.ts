/** What the routes below `/sites/:id` have in common: which site, in which subscription, and how long to wait for its node. */
import { t } from 'elysia'
import { choice, idParams, integerText, toInteger } from '../../http/schema.ts'
import type { SiteRef } from './site-access.ts'

export const siteParams = idParams('Site id')

export const inSubscription = {
  subscription_id: t.Optional(integerText({ description: 'The subscription that the site must be in' })),
}

const LONGEST_WAIT_SECONDS = 10

/** @param until when the answer comes, for people */
export const waitQuery = (until: string) => ({
  wait: t.Optional(choice(['observed'], until)),
  timeout: t.Optional(
    integerText({
      minimum: 1,
      maximum: LONGEST_WAIT_SECONDS,
      description: 'Seconds to wait at most, 10 when absent; then the answer is what there is by then',
    }),
  ),
})

/** @returns milliseconds; undefined for a request that does not wait */
export function toPatience({ wait, timeout }: { wait?: 'observed'; timeout?: string }): number | undefined {
  if (wait === undefined) return undefined
  return 1000 * (timeout === undefined ? LONGEST_WAIT_SECONDS : toInteger(timeout))
}

/** The site in the path and the subscription in the query. */
export function toSiteRef(params: { id: string }, { subscription_id: id }: { subscription_id?: string }): SiteRef {
  return { id: toInteger(params.id), subscriptionId: id === undefined ? undefined : toInteger(id) }
}
