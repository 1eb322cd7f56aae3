// A real Chromium for the tests of the dashboard. It is unpacked once, into the temporary folder.
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

/** One process for all crashes when a page closes; the others switch off rules of the web that the tests rely on. */
const REFUSED = /single-process|web-security|insecure-content|no-zygote|site-per-process/

/** Starts the browser; once more if it does not start, as on a machine that is busy. */
export async function openBrowser(): Promise<Browser> {
  const { default: packed } = await import('@sparticuz/chromium')
  const start = async () =>
    chromium.launch({
      executablePath: await packed.executablePath(),
      args: packed.args.filter(one => !REFUSED.test(one)),
      headless: true,
    })
  return start().catch(start)
}

export interface Opened {
  page: Page
  /** What the browser complained about: errors of scripts, blocked content, failed requests. */
  complaints: string[]
  /** Hosts that anything was requested from. */
  hosts: Set<string>
}

/** Ends a test that hangs: under load an answer may take ten times as long as on an idle machine. */
const WITHIN_MS = 300_000

const DESKTOP = { width: 1_440, height: 900 }

/** Opens a page that notes every complaint. Without motion, so that what is seen is final. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Opened> {
  const context = await browser.newContext({
    viewport: DESKTOP,
    reducedMotion: 'reduce',
    locale: 'en-US',
    timezoneId: 'Europe/Berlin',
    ...options,
  })
  context.setDefaultTimeout(WITHIN_MS)
  const page = await context.newPage()
  const complaints: string[] = []
  const hosts = new Set<string>()
  page.on('console', message => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', error => complaints.push(error.message))
  page.on('request', request => {
    if (request.url().startsWith('http')) hosts.add(new URL(request.url()).host)
  })
  return { page, complaints, hosts }
}

/** Resolves once all answers are drawn. The policy of the pages forbids playwright's own way to wait for a condition. */
export async function settled(page: Page): Promise<void> {
  await page.waitForSelector('#content > *')
  // An answer may lead to another question, so that a page is quiet only if it stays so.
  for (let quiet = 0; quiet < 3; await page.waitForTimeout(25)) {
    const isBusy = (await page.locator('body:not([aria-busy=false]), .skeleton, .stale').count()) > 0
    quiet = isBusy ? 0 : quiet + 1
  }
}
