/** Headless Chromium in front of a panel that speaks TLS with its own certificate, and a record of all that it does. */
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core'
import { createApp } from '../../src/app.ts'
import { systemClock } from '../../src/core/clock.ts'
import { listen } from '../../src/http/listen.ts'
import { ownCertificate } from '../../src/tls/certificate.ts'
import type { Panel } from './panel.ts'

/** Debian's, unless stated. */
export const CHROMIUM = process.env.NCP_TEST_CHROMIUM ?? '/usr/bin/chromium'
export const chromiumIsInstalled = existsSync(CHROMIUM)

/** Where screenshots go, if wanted. */
const SCREENSHOTS = process.env.NCP_TEST_SCREENSHOTS

const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // A container's shared memory is small, and a renderer that runs out of it takes the browser down.
  '--disable-dev-shm-usage',
]

/** Of one step; a busy machine takes its time, and a test that hangs ends all the same. */
export const BROWSER_TIMEOUT_MS = 110_000

export type SentRequest = { method: string; url: URL; authorization: string | undefined }

/** A page, and what happened in it since it was opened. */
export type Visit = {
  page: Page
  /** Every request to a server, in order. */
  requests: SentRequest[]
  /** Errors and warnings on the console (Chromium prints violations of the CSP there), exceptions, failed requests. */
  complaints: string[]
  /** Takes a picture of what is in view, or of one element, into the directory NCP_TEST_SCREENSHOTS if that is set. */
  screenshot(name: string, element?: Locator): Promise<void>
}

export function launchBrowser(): Promise<Browser> {
  // In the C locale, which a machine without settings has, it reads no file whose name is not ASCII.
  const env = { ...process.env, LC_ALL: 'C.UTF-8' }
  return chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS, timeout: BROWSER_TIMEOUT_MS, env })
}

/** Serves a panel a second time, as `ncp serve` does: over TLS, with the certificate that it makes for itself. */
export async function serveTls(panel: Panel) {
  const directory = join(panel.data, 'tls')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  // The browser goes by the real time.
  const tls = await ownCertificate(directory, systemClock)
  let server: Bun.Server<undefined> | undefined
  const app = createApp(panel.services, (request) => server?.requestIP(request)?.address)
  const opened = listen(app.fetch, { host: '127.0.0.1', port: 0, tls })
  server = opened
  return { origin: `https://127.0.0.1:${opened.port}`, stop: () => opened.stop(true) }
}

/** Opens `url` in a profile of its own. */
export async function visit(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const viewport = { width: 1280, height: 1000 }
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport, locale: 'en-GB', ...options })
  context.setDefaultTimeout(BROWSER_TIMEOUT_MS)
  const requests: SentRequest[] = []
  const complaints: string[] = []
  context.on('request', (request) => {
    const sent = new URL(request.url())
    if (sent.protocol === 'data:') return
    requests.push({ method: request.method(), url: sent, authorization: request.headers().authorization })
  })
  context.on('requestfailed', (request) => complaints.push(`${request.url()}: ${request.failure()?.errorText}`))
  context.on('weberror', (error) => complaints.push(`exception: ${error.error().message}`))
  context.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`)
  })
  const page = await context.newPage()
  await page.goto(url)
  return {
    page,
    requests,
    complaints,
    async screenshot(name, element) {
      if (SCREENSHOTS) await (element ?? page).screenshot({ path: join(SCREENSHOTS, `${name}.png`) })
    },
  }
}
