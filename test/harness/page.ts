/** The page for people in a real browser, and what every view of it must keep. */
import { expect } from 'bun:test'
import { readFileSync } from 'node:fs'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { chromiumIsInstalled, type Visit } from './browser.ts'
import { PASSWORD } from './panel.ts'

// On a developer's machine a browser is a wish; where the suite decides about a change, its absence is a failure.
export const skipped = !chromiumIsInstalled && !process.env.CI

export const THEMES = ['light', 'dark'] as const
export const DESKTOP = { width: 1280, height: 900 }
export const PHONE = { width: 390, height: 844 }

export type Theme = (typeof THEMES)[number]

export function optionsOf(theme: Theme, viewport = DESKTOP, locale = 'en-GB'): BrowserContextOptions {
  return { colorScheme: theme, viewport, locale, reducedMotion: 'reduce' }
}

/** Fills in the form to log in, and sends it. */
export async function logIn(page: Page, email: string, password: string = PASSWORD): Promise<void> {
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Log in' }).click()
}

const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

type Violation = { id: string; nodes: { target: string[]; failureSummary: string }[] }

/** Fails with what axe-core finds against WCAG 2.2 AA. It is evaluated by the debugger, which no policy stops. */
export async function requireAccessible(page: Page, what: string): Promise<void> {
  await page.evaluate(`${axe};0`)
  const violations = await page.evaluate<Violation[]>(
    `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }).then((found) => found.violations)`,
  )
  const told = violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} at ${target.join(' ')}: ${failureSummary}`),
  )
  expect([what, told]).toEqual([what, []])
}

/** Fails if the page has to be scrolled sideways, which axe-core does not see. */
export async function requireFits(page: Page, what: string): Promise<void> {
  const sizes = await page.evaluate<[number, number]>(
    '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
  )
  expect([what, sizes[0]]).toEqual([what, sizes[1]])
}

/** Fails if anything but what is expected was complained about, or sent to another origin. */
export function requireQuiet({ complaints, requests }: Visit, origin: string, expected = /^$/): void {
  // What a test navigates away from is aborted.
  const isAbort = (complaint: string) => complaint.endsWith('net::ERR_ABORTED')
  expect(complaints.filter((complaint) => !isAbort(complaint) && !expected.test(complaint))).toEqual([])
  expect([...new Set(requests.filter(({ url }) => url.protocol !== 'blob:').map(({ url }) => url.origin))]).toEqual([
    origin,
  ])
}
