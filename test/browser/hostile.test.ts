// What nobody meant: addresses of garbage, texts of strangers, servers that are busy, answers that come late.
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import type { Browser, Response } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { METRICS } from '../../src/metrics/all-metrics.ts'
import { Pages } from '../../src/serve/pages.ts'
import { served } from '../serve/served.ts'
import { until } from '../until.ts'
import { openBrowser, openPage, settled } from './browser.ts'

const world = served()
let browser: Browser
let folder: string

beforeAll(async () => {
  browser = await openBrowser()
  folder = await mkdtemp(join(tmpdir(), 'convohouse-pages-'))
})

afterAll(async () => {
  await browser?.close()
  await rm(folder, { recursive: true, force: true })
})

const behind = (question: object) => `/conversations?behind=${encodeURIComponent(JSON.stringify(question))}`
const ASKED = { metrics: ['conversations'], period: 'last-4-weeks' }

it.each([
  ['/?period=2026-13-45..2026-99-99', 'Overview'],
  ['/?period=2026-11-20..2026-11-01', 'Overview'],
  ['/?period=banana', 'Overview'],
  ['/?agent=%25', 'Overview'],
  ['/%E0%A4%A', null],
  ['/constructor', null],
  ['/__proto__', null],
  ['/conversations?period=banana', 'Conversations'],
  [behind({ ...ASKED, grain: 'day', bucket: 'foo' }), 'Conversations'],
  [behind({ ...ASKED, filters: { agent: 5 } }), 'Conversations'],
  [behind({ ...ASKED, grain: 'month', bucket: 5 }), 'Conversations'],
])('the address %s shows a page or says that there is none', async (path, title) => {
  const { page: tab, complaints } = await openPage(browser)
  await tab.goto(`${world.running.url}${path}`)
  await settled(tab)
  if (title === null) expect(await tab.locator('main').textContent()).toContain('There is no page')
  else expect(await tab.locator('h1').textContent()).toBe(title)
  if (!path.includes('behind')) expect(complaints).toEqual([])
  else expect(await tab.locator('.failed').allTextContents()).toEqual([expect.not.stringContaining('This part')])
})

it('no link of an address with two slashes leads to another host', async () => {
  const { page: tab } = await openPage(browser)
  await tab.goto(`${world.running.url}//evil.example/?view=2:sql`)
  await settled(tab)
  const hosts = await tab.$$eval('a', all => all.map(one => (one as unknown as { host: string }).host))
  expect(new Set(hosts)).toEqual(new Set([new URL(world.running.url).host]))
})

const OWN = `title: Mine
about: '?'
changes: { metrics: [conversations, person_assigned], by: [agent] }
tiles:
  - title: texts
    sql: SELECT '=1+1' AS text, '-5' AS number, '@x' AS at
  - title: series
    sql: SELECT 'x' AS x, 's' || i AS s, 10 - i AS n FROM range(10) t(i)
    chart: bars
    x: x
    y: [n]
    by: s
  - title: rows
    sql: SELECT i FROM range(1001) t(i)
`

describe('a page of the user', () => {
  const open = async (search = '') => {
    await writeFile(join(folder, 'mine.yaml'), OWN)
    const pages = new Pages({ folder, metrics: METRICS, onProblem: expect.unreachable })
    const { running } = await world.start({ pages })
    const { page: tab } = await openPage(browser)
    const asked: { metrics: string[]; filters: object; compare?: boolean }[] = []
    tab.on('request', request => {
      if (request.url().endsWith('/v1/metrics/query'))
        asked.push(...(request.postDataJSON() as { queries: typeof asked }).queries)
    })
    await tab.goto(`${running.url}/mine${search}`)
    await settled(tab)
    return { tab, asked }
  }

  it('downloads texts that a spreadsheet would run as texts, and leaves numbers alone', async () => {
    const { tab } = await open()
    await tab.locator('#tile-1 .actions > button').click()
    const download = tab.waitForEvent('download')
    await tab.locator('#tile-1 .panel button', { hasText: 'Download CSV' }).click()
    expect(await readFile(await (await download).path(), 'utf8')).toBe("text,number,at\r\n'=1+1,-5,'@x\r\n")
  })

  it('leaves no series and no row out without saying so', async () => {
    const { tab } = await open()
    expect(await tab.locator('#tile-2 .legend li').allTextContents()).toContain('3 others')
    await tab.locator('#tile-2 .chart').focus()
    await tab.keyboard.press('ArrowRight')
    const values = await tab.locator('#tile-2 .tip td').allTextContents()
    expect(values.map(Number).reduce((sum, one) => sum + one)).toBe(55)
    expect(await tab.locator('#tile-3 .doubt').textContent()).toContain('first 1,000 rows')
  })

  it('compares each metric with the filters that it has', async () => {
    const { asked } = await open('?channel=webchat')
    const compared = asked.filter(({ compare }) => compare)
    expect(compared.map(({ metrics, filters }) => [metrics, filters])).toEqual([
      [['conversations'], { channel: ['webchat'] }],
      [['person_assigned'], {}],
    ])
  })
})

it('asks nothing of an organization before its agents are known', async () => {
  const { page: tab } = await openPage(browser)
  const asked: string[] = []
  tab.on('request', request => {
    if (request.url().endsWith('/v1/metrics/query')) asked.push(request.postData() ?? '')
  })
  await tab.route('**/v1/organizations', async route => {
    await new Promise(resolve => setTimeout(resolve, 500))
    const organizations = [{ workspace: 'ws', organization: 'o', name: 'O', agents: ['ws/of-organization'] }]
    const asOf = new Date(0).toISOString()
    return route.fulfill({ contentType: 'application/json', body: JSON.stringify({ organizations, asOf }) })
  })
  await tab.goto(`${world.running.url}/quality?organization=ws%252Fo`)
  const isFigure = (body: string) => body.includes('automation_rate')
  await until(() => asked.some(isFigure))
  await settled(tab)
  const figures = asked.filter(isFigure)
  for (const body of figures) expect(body).not.toContain('"agent":[""]')
})

it('asks again by itself while the server is busy, not often', async () => {
  const { page: tab } = await openPage(browser)
  await tab.clock.install()
  let isBusy = true
  let requests = 0
  await tab.route('**/v1/metrics/query', route => {
    requests += 1
    const error = { error: { code: 'QUERY_BUSY', what: 'It is busy.', hint: 'Later.' } }
    return isBusy
      ? route.fulfill({ status: 503, contentType: 'application/json', body: JSON.stringify(error) })
      : route.continue()
  })
  await tab.goto(`${world.running.url}/quality?period=last-12-months`)
  await tab.clock.runFor(1_000)
  await tab.locator('.failed').first().waitFor()
  const first = requests
  // The clock also goes on by itself.
  await tab.clock.runFor(5_000)
  expect(requests).toBe(first)
  isBusy = false
  await tab.clock.runFor(11_000)
  await until(async () => {
    await tab.clock.runFor(200)
    return (await tab.locator('.failed, .skeleton').count()) === 0
  })
  expect(requests).toBeLessThanOrEqual(first + 6)
})

it('an answer of the snapshot before that comes late is asked for again', async () => {
  const { page: tab } = await openPage(browser)
  await tab.goto(`${world.running.url}/quality?period=last-12-months`)
  await settled(tab)
  const before = (await fetch(`${world.running.url}/v1/metrics`)).headers.get('Convohouse-As-Of')!
  let isHeld = true
  await tab.route('**/v1/metrics/query', async route => {
    const response = await route.fetch()
    await until(() => !isHeld)
    await route.fulfill({ response })
  })
  await tab.locator('nav a', { hasText: 'Overview' }).click()
  const next = `${world.path}.of-test`
  await writeFile(next, await readFile(world.path))
  const instance = await DuckDBInstance.create(next)
  const connection = await instance.connect()
  await connection.run('DELETE FROM marts.fct_conversations')
  await connection.run('UPDATE _publication SET seq = seq + 1, as_of = as_of + INTERVAL 1 HOUR')
  connection.closeSync()
  instance.closeSync()
  await rename(next, world.path)
  const asOf = (response: Response) => response.headers()['convohouse-as-of'] ?? ''
  const seen = tab.waitForResponse(response => response.url().endsWith('/v1/metrics') && asOf(response) > before)
  const look = setInterval(() => void tab.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`), 200)
  await seen
  clearInterval(look)
  isHeld = false
  await settled(tab)
  expect((await tab.locator('.figure .value').first().textContent())?.trim()).toBe('not exported')
})
