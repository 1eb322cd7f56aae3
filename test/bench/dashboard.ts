// Measures the dashboard in a real Chromium over a large snapshot: when a page can be used, what a changed filter takes, new and cached,
// the size of what is loaded first, and the memory of the page after many updates.
//
// With `--home FOLDER` the snapshot is that of the bench `serve`. `--agents 200` is the size that its goals are for.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Browser, Page as Tab } from 'playwright-core'
import { openBrowser, openPage, settled } from '../browser/browser.ts'
import { CLI, environment, inFolder, serving } from './command.ts'
import { EXPORTED_AT_MS } from './landed-export.ts'
import { type BenchOptions, median, rounded } from './measure.ts'
import { provideSnapshot } from './serve.ts'

/** The days of the period, which are far enough back for a period before it. */
const DAYS = 28
const UPDATES = 200
const PAGES = ['', 'quality', 'service', 'spend']

const day = (ago: number): string => new Date(EXPORTED_AT_MS - ago * 86_400_000).toISOString().slice(0, 10)

/** Returns a period that no earlier one equals, so that no answer is cached. */
const periodBefore = (at: number): string => `${day(DAYS + at)}..${day(1 + at)}`

/** Resolves once nothing on the page waits for an answer. Runs in the page, since each look from outside takes time. */
const isReady = `new Promise(resolve => {
  const look = () => {
    const isWaiting = !document.querySelector('.figure .value') || document.querySelector('.skeleton, .stale')
    if (isWaiting) requestAnimationFrame(look)
    else resolve(performance.now())
  }
  look()
})`

const ready = async (tab: Tab): Promise<number> => (await tab.evaluate(isReady)) as number

/** Returns the time from the navigation until every part of the first page has its answer, ms. */
async function usableMs(browser: Browser, url: string, period: string): Promise<number> {
  const { page } = await openPage(browser)
  await page.goto(`${url}/?period=${period}`, { waitUntil: 'commit' })
  const ms = await ready(page)
  await page.context().close()
  return ms
}

/** Returns the time from the choice of an agent in the filter until every part of the page has its answer, ms. */
async function chosenMs(tab: Tab, at: number): Promise<number> {
  const choice = `document.querySelectorAll('.panel ul input')[${at}]`
  return (await tab.evaluate(`(async () => {
    const begun = performance.now()
    ${choice}.click()
    await new Promise(requestAnimationFrame)
    await new Promise(requestAnimationFrame)
    return (await ${isReady}) - begun
  })()`)) as number
}

async function filterMs(browser: Browser, url: string, { rounds }: BenchOptions) {
  const { page } = await openPage(browser)
  await page.goto(`${url}/?period=${periodBefore(0)}`)
  await settled(page)
  await page.click('.filter:has-text("Agent") .menu > button')
  const measured = { fresh: [] as number[], cached: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    // On, off, and on again: the last is a question that was asked before.
    measured.fresh.push(await chosenMs(page, round))
    await chosenMs(page, round)
    measured.cached.push(await chosenMs(page, round))
    await chosenMs(page, round)
  }
  await page.context().close()
  return measured
}

/** Returns the heap of a page after many changes of page, period and filter, MB. */
async function memoryMb(browser: Browser, url: string): Promise<number> {
  const { page } = await openPage(browser)
  const devtools = await page.context().newCDPSession(page)
  await page.goto(url)
  await settled(page)
  for (let at = 0; at < UPDATES; at++) {
    // Within the page: a reader follows links, which load no document.
    await page.evaluate(`(() => {
      const link = document.createElement('a')
      link.href = ${JSON.stringify(`/${PAGES[at % PAGES.length]}?period=${periodBefore(at % 50)}`)}
      document.body.append(link)
      link.click()
      link.remove()
    })()`)
    await page.waitForTimeout(100)
    await ready(page)
  }
  await devtools.send('HeapProfiler.collectGarbage')
  const { usedSize } = await devtools.send('Runtime.getHeapUsage')
  await page.context().close()
  return usedSize / 2 ** 20
}

/** Returns the size of the scripts and styles that the first page loads, compressed as over the network. */
async function bundleBytes(browser: Browser, url: string): Promise<number> {
  const { page } = await openPage(browser)
  const loaded: string[] = []
  page.on('request', request => {
    if (/\/assets\/.*\.(js|css)$/.test(request.url())) loaded.push(new URL(request.url()).pathname)
  })
  await page.goto(url)
  await settled(page)
  await page.context().close()
  const files = await Promise.all(loaded.map(path => readFile(join(CLI, '../../../web', path))))
  return files.reduce((sum, file) => sum + gzipSync(file).length, 0)
}

async function measure(url: string, options: BenchOptions): Promise<Record<string, number>> {
  const browser = await openBrowser()
  try {
    // The server compiles code in its first answers, and the operating system reads the file.
    await usableMs(browser, url, periodBefore(1))
    const usable: number[] = []
    for (let round = 0; round < options.rounds; round++)
      usable.push(await usableMs(browser, url, periodBefore(2 + round)))
    console.error(`usable ${usable.map(ms => rounded(ms, 0))}`)
    const { fresh, cached } = await filterMs(browser, url, options)
    console.error(`filters: new ${fresh.map(ms => rounded(ms, 0))}, cached ${cached.map(ms => rounded(ms, 0))}`)
    return {
      usableMs: rounded(median(usable), 0),
      filterCachedMs: rounded(median(cached), 0),
      filterNewMs: rounded(median(fresh), 0),
      bundleGzBytes: await bundleBytes(browser, url),
      pageMemoryMb: rounded(await memoryMb(browser, url), 1),
    }
  } finally {
    await browser.close()
  }
}

export const dashboardBench = (options: BenchOptions): Promise<Record<string, number>> =>
  inFolder(async home => {
    await provideSnapshot(home, options)
    return serving([CLI, 'serve', '--address', '127.0.0.1:0', '--json'], environment({ home }), port =>
      measure(`http://127.0.0.1:${port}`, options),
    )
  })
