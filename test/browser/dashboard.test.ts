// The dashboard in a real Chromium, over a real server and snapshot: what is drawn is what was answered.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, Page as Tab } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Cell, MetricAnswered } from '../../src/metrics/answer-format.ts'
import type { ListedMetric } from '../../src/serve/declared-metrics.ts'
import type { Page } from '../../src/serve/pages/page-format.ts'
import { cellText } from '../../src/serve/web/charts/cell-text.ts'
import { valueText } from '../../src/serve/web/format/values.ts'
import { send, served, tokenFor } from '../serve/served.ts'
import { isDeep } from '../tier.ts'
import { openBrowser, openPage, settled } from './browser.ts'

const world = served()
let browser: Browser

beforeAll(async () => {
  browser = await openBrowser()
})

afterAll(() => browser?.close())

const get = async <T>(path: string): Promise<T> => (await send(world.running, path)).json

async function askAll(queries: readonly object[]): Promise<MetricAnswered[][]> {
  const { json } = await send(world.running, '/v1/metrics/query', { method: 'POST', body: { queries } })
  return (json.answers as { metrics: MetricAnswered[] }[]).map(({ metrics }) => metrics)
}

const ask = async (query: object): Promise<MetricAnswered[]> => (await askAll([query]))[0]!

const declared = async () => ({
  pages: (await get<{ pages: Page[] }>('/v1/pages')).pages,
  metrics: new Map(
    (await get<{ metrics: ListedMetric[] }>('/v1/metrics')).metrics.map(metric => [metric.name, metric]),
  ),
})

const totalOf = ({ series }: MetricAnswered): Cell => series.at(-1)!.cells[0]!

/** Returns what stands in the large figures, by title. */
const figuresOf = async (tab: Tab): Promise<Record<string, string>> =>
  Object.fromEntries(
    await tab.$$eval('.figure', all =>
      all.map(one => [one.querySelector('h2')!.textContent, one.querySelector('.value')!.textContent!.trim()]),
    ),
  )

const spaced = (text: string): string => text.replace(/\s+/g, ' ')

/** The days of the world; a period that it has, one without data, and one of a single agent. */
async function casesOf(): Promise<{ search: string; period: unknown; filters: object }[]> {
  const [agents] = await ask({ metrics: ['conversations'], period: 'last-12-months', split: 'agent' })
  const { workspaceId, value } = agents!.series[0]!.split!
  const agent = `${workspaceId}/${value}`
  return [
    { search: 'period=last-12-months', period: 'last-12-months', filters: {} },
    { search: 'period=2001-01-01..2001-01-31', period: { from: '2001-01-01', to: '2001-01-31' }, filters: {} },
    {
      search: `period=last-13-weeks&agent=${encodeURIComponent(encodeURIComponent(agent))}`,
      period: 'last-13-weeks',
      filters: { agent: [agent] },
    },
  ]
}

describe('each declared page', () => {
  it('shows the values of its figures and charts, without a complaint of the browser', async () => {
    const { pages, metrics } = await declared()
    const cases = await casesOf()
    expect(pages.length).toBeGreaterThanOrEqual(7)
    const { page: tab, complaints, hosts } = await openPage(browser)
    for (const page of pages)
      for (const { search, period, filters } of cases) {
        await tab.goto(`${world.running.url}/${page.name}?${search}`)
        await settled(tab)
        const shown = await figuresOf(tab)
        const queries = page.figures.map(name => {
          const has = (dimension: string) => metrics.get(name)!.dimensions.some(one => one.name === dimension)
          const applied = Object.fromEntries(Object.entries(filters).filter(([dimension]) => has(dimension)))
          return { metrics: [name], period, filters: applied }
        })
        const answers = queries.length === 0 ? [] : await askAll(queries)
        for (const [at, name] of page.figures.entries()) {
          const metric = metrics.get(name)!
          const cell = totalOf(answers[at]![0]!)
          const expected =
            cell.value === null
              ? cellText(cell, metric).replace(/^none$/, 'too few (n = 0)')
              : valueText(cell.value, metric.unit, cell.n)
          expect([page.name, search, name, spaced(shown[metric.title]!)]).toEqual([
            page.name,
            search,
            name,
            spaced(expected),
          ])
        }
      }
    expect(complaints).toEqual([])
    expect([...hosts]).toEqual([new URL(world.running.url).host])
  })

  it.runIf(isDeep)('shows the same when a link leads to it as when it is loaded', async () => {
    const { page: tab, complaints } = await openPage(browser)
    await tab.goto(`${world.running.url}/?period=last-12-months`)
    await settled(tab)
    const links = tab.locator('nav li:not(.more) a')
    // Pipeline needs a whole status, which this server has not.
    const entries = (await links.allTextContents()).filter(title => title !== 'Pipeline')
    const linked: [string, string[]][] = []
    for (const [at, title] of entries.entries()) {
      await links.nth(at).click()
      await tab.locator('h1', { hasText: title }).waitFor()
      await settled(tab)
      linked.push([tab.url(), await tab.locator('main h2').allTextContents()])
    }
    for (const [url, titles] of linked) {
      await tab.goto(url)
      await settled(tab)
      expect([url, await tab.locator('main h2').allTextContents()]).toEqual([url, titles])
    }
    expect(entries.length).toBeGreaterThan(8)
    expect(complaints).toEqual([])
  })

  it('has tables with the same values as its charts', async () => {
    const { pages, metrics } = await declared()
    const { page: tab } = await openPage(browser)
    const period = 'last-12-months'
    let compared = 0
    for (const { name, tiles } of pages)
      for (const [at, tile] of tiles.entries()) {
        if (
          tile.kind !== 'metrics' ||
          tile.chart === 'ranking' ||
          tile.chart === 'heat' ||
          tile.split ||
          tile.grain !== 'auto'
        )
          continue
        await tab.goto(`${world.running.url}/${name}?period=${period}&view=${at + 1}:table`)
        await settled(tab)
        const rows = await tab.$$eval(`#tile-${at + 1} tbody tr`, all =>
          all.map(row => [...row.querySelectorAll('td')].map(cell => cell.textContent!)),
        )
        const answers = await ask({ metrics: tile.metrics, period, grain: 'month', filters: tile.filters })
        if (rows.length === 0) continue
        const expected = answers[0]!.buckets.map((_, bucket) =>
          answers.map(({ metric, series }) => cellText(series.at(-1)!.cells[bucket]!, metrics.get(metric)!)),
        )
        expect([name, at, rows.map(row => row.map(spaced))]).toEqual([name, at, expected.map(row => row.map(spaced))])
        compared += 1
      }
    expect(compared).toBeGreaterThan(5)
  })
})

/** Runs in the page, whose types the tests do not have: the height of each bar of a colour, from left to right, in pixels. */
const BARS = `(canvas, wanted) => {
  const { width, height } = canvas
  const { data } = canvas.getContext('2d').getImageData(0, 0, width, height)
  const isWanted = (x, y) => wanted.every((part, channel) => Math.abs(data[(y * width + x) * 4 + channel] - part) < 6)
  const heights = []
  let before = 0
  for (let x = 0; x < width; x += 1) {
    let count = 0
    for (let y = 0; y < height; y += 1) if (isWanted(x, y)) count += 1
    if (count > 0 && before === 0) heights.push(0)
    if (count > 0) heights[heights.length - 1] = Math.max(heights.at(-1), count)
    before = count
  }
  return heights
}`

async function barsOf(tab: Tab, tile: string, colour: readonly number[]): Promise<number[]> {
  // A chart is drawn a frame later, once its width is known.
  await tab.waitForSelector(`${tile} canvas`)
  return (await tab.evaluate(
    `(${BARS})(document.querySelector('${tile} canvas'), ${JSON.stringify(colour)})`,
  )) as number[]
}

describe('a chart', () => {
  it('has bars in proportion to the values', async () => {
    const { page: tab } = await openPage(browser)
    await tab.goto(`${world.running.url}/?period=last-12-months`)
    await settled(tab)
    const tile = await tab.$eval('[aria-label="Is the backlog growing?"]', one => `#${one.id}`)
    const [answer] = await ask({ metrics: ['backlog_open'], period: 'last-12-months', grain: 'month' })
    const values = answer!.series[0]!.cells.map(({ value }) => value ?? 0).filter(value => value > 0)
    const heights = await barsOf(tab, tile, [0x2b, 0x59, 0xd1])
    expect(heights).toHaveLength(values.length)
    const most = Math.max(...values)
    const tallest = Math.max(...heights)
    for (const [at, height] of heights.entries())
      expect(Math.abs(height - (values[at]! / most) * tallest)).toBeLessThan(3)
  })

  it('is read with the arrow keys, and Enter opens the conversations behind a column', async () => {
    const { page: tab } = await openPage(browser)
    await tab.goto(`${world.running.url}/?period=last-12-months`)
    await settled(tab)
    const chart = tab.locator('[aria-label="How do conversations end?"] .chart')
    await chart.focus()
    await tab.keyboard.press('ArrowLeft')
    const [answer] = await ask({
      metrics: ['conversations'],
      period: 'last-12-months',
      grain: 'month',
      split: 'outcome',
    })
    const last = answer!.series.filter(({ split }) => split).map(({ cells }) => cells.at(-1)!.value ?? 0)
    const shown = await chart.locator('.tip tbody tr td:nth-child(2)').allTextContents()
    expect(
      shown
        .map(Number)
        .filter(value => value > 0)
        .sort(),
    ).toEqual(last.filter(value => value > 0).sort())
    await tab.keyboard.press('Enter')
    expect(new URL(tab.url()).pathname).toBe('/conversations')
    await tab.goBack()
    await settled(tab)
    expect(await tab.title()).toBe('Overview · convohouse')
  })
})

describe('a reader', () => {
  it('signs in with a token, sees what it may, and signs out', async () => {
    const { running, tokens } = await world.start()
    const token = await tokenFor(tokens, 'metrics')
    const { page: tab } = await openPage(browser)
    await tab.goto(running.url)
    await tab.fill('input[type=password]', 'chk_wrong')
    await tab.click('button[type=submit]')
    await tab.waitForSelector('[role=alert]')
    await tab.fill('input[type=password]', token)
    await tab.click('button[type=submit]')
    await settled(tab)
    const entries = await tab.locator('nav li:not(.more) a').allTextContents()
    expect(entries).toContain('Overview')
    expect(entries).not.toContain('Explore')
    expect(entries).not.toContain('Pipeline')
    expect(await tab.content()).not.toContain(token)
    expect(
      await tab.evaluate(
        'JSON.stringify([location.href, { ...localStorage }, { ...sessionStorage }, document.cookie])',
      ),
    ).not.toContain(token)
    await tab.locator('nav a', { hasText: 'People' }).click()
    await tab.locator('h1', { hasText: 'People' }).waitFor()
    await settled(tab)
    expect(await tab.locator('.tile').count()).toBeGreaterThan(0)
    expect(await tab.locator('.failed').allTextContents()).toEqual([])
    await tab.click('.sign-out')
    await tab.waitForSelector('input[type=password]')
  })

  it('reaches every page with the keyboard', async () => {
    const { page: tab } = await openPage(browser)
    await tab.goto(world.running.url)
    await settled(tab)
    await tab.keyboard.press('?')
    const keys = await tab.locator('[role=dialog] dt').allTextContents()
    expect(keys.length).toBeGreaterThan(8)
    await tab.keyboard.press('Escape')
    await tab.keyboard.press('g')
    await tab.keyboard.press('q')
    await tab.locator('h1', { hasText: 'Quality' }).waitFor()
    await tab.keyboard.press('f')
    await tab.keyboard.press('Enter')
    await tab.locator('.panel button', { hasText: 'Last 13 weeks' }).press('Enter')
    expect(new URL(tab.url()).searchParams.get('period')).toBe('last-13-weeks')
  })

  it('chooses a value of a filter by a click on its name', async () => {
    const { page: tab } = await openPage(browser)
    await tab.goto(world.running.url)
    await settled(tab)
    await tab.locator('.filter button', { hasText: 'Channel' }).click()
    const [first] = await tab.locator('.panel label span').allTextContents()
    await tab.locator('.panel label span').first().click()
    await tab.locator('.filter.on', { hasText: first! }).waitFor()
    expect(new URL(tab.url()).searchParams.get('channel')).not.toBeNull()
  })
})

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const VARIANTS = [
  { colorScheme: 'light', viewport: { width: 1_440, height: 900 } },
  { colorScheme: 'dark', viewport: { width: 390, height: 844 } },
  ...(isDeep
    ? ([
        { colorScheme: 'dark', viewport: { width: 1_440, height: 900 } },
        { colorScheme: 'light', viewport: { width: 390, height: 844 } },
      ] as const)
    : []),
] as const

it.each(VARIANTS)('nothing hinders people with a disability on any page ($colorScheme)', async variant => {
  const { pages } = await declared()
  // The policy forbids scripts of others, as it should: only this test passes it by.
  const { page: tab } = await openPage(browser, { ...variant, bypassCSP: true })
  const found: string[] = []
  for (const name of [...pages.map(page => page.name), 'conversations', 'explore']) {
    await tab.goto(`${world.running.url}/${name}?period=last-12-months`)
    await settled(tab)
    await tab.evaluate(AXE)
    const { violations } = (await tab.evaluate('axe.run()')) as {
      violations: { id: string; nodes: { html: string }[] }[]
    }
    found.push(...violations.map(({ id, nodes }) => `${name}: ${id}: ${nodes[0]!.html.slice(0, 160)}`))
  }
  expect(found).toEqual([])
})
