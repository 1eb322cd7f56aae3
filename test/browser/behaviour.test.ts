// How the dashboard behaves: pages of users, missing coverage, parts that fail, a snapshot that is replaced, the keyboard.
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import type { Browser, Page as Tab } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { METRICS } from '../../src/metrics/all-metrics.ts'
import { Pages } from '../../src/serve/pages.ts'
import { send, served } from '../serve/served.ts'
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

async function open(path: string, url = world.running.url): Promise<Tab> {
  const { page: tab } = await openPage(browser)
  await tab.goto(`${url}${path}`)
  await settled(tab)
  return tab
}

const OWN = `title: Mine
about: What do I want to see?
figures: [conversations]
tiles:
  - title: How many by channel?
    metrics: [conversations]
    chart: ranking
    split: channel
  - title: What does SQL say?
    sql: SELECT channel, count(*) AS n FROM marts.fct_conversations WHERE day BETWEEN $from AND $to GROUP BY ALL ORDER BY ALL
  - title: Is <b>bold</b> text?
    metrics: [resolution_rate]
    chart: line
`

describe('a page of the user', () => {
  it('is in the navigation, draws metrics and SQL of the period, and shows its texts as they are', async () => {
    await writeFile(join(folder, 'mine.yaml'), OWN)
    const pages = new Pages({ folder, metrics: METRICS, onProblem: expect.unreachable })
    const { running } = await world.start({ pages })
    const tab = await open('/mine?period=last-12-months', running.url)
    expect(await tab.locator('nav a', { hasText: 'Mine' }).getAttribute('aria-current')).toBe('page')
    const { json } = await send(running, '/v1/metrics/query', {
      method: 'POST',
      body: { queries: [{ metrics: ['conversations'], period: 'last-12-months', split: 'channel' }] },
    })
    const [{ period, series }] = json.answers[0].metrics
    const ranked = series.filter(({ split }: { split: unknown }) => split !== null)
    expect(await tab.locator('#tile-1 .ranking li').count()).toBe(ranked.length)
    const sql = `SELECT count(DISTINCT channel) AS n FROM marts.fct_conversations WHERE day BETWEEN '${period.from}' AND '${period.to}'`
    const rows = (await send(running, '/v1/query', { method: 'POST', body: { sql } })).json.rows
    expect(await tab.locator('#tile-2 tbody tr').count()).toBe(rows[0].n)
    expect(await tab.locator('#tile-3 h2').textContent()).toBe('Is <b>bold</b> text?')
  })

  it('is renewed when it is saved, and says what is wrong with it', async () => {
    const pages = new Pages({ folder, metrics: METRICS, onProblem: () => {} })
    const { running } = await world.start({ pages })
    await writeFile(join(folder, 'mine.yaml'), OWN.replace('title: Mine', 'title: Renamed'))
    const tab = await open('/mine', running.url)
    expect(await tab.locator('h1').textContent()).toBe('Renamed')
    await writeFile(join(folder, 'mine.yaml'), OWN.replace('resolution_rate', 'no_such_metric'))
    await until(async () => (await (await send(running, '/v1/pages')).json.problems.length) > 0)
    await tab.goto(running.url)
    await settled(tab)
    expect(await tab.locator('main').textContent()).toContain('no_such_metric')
  })
})

describe('a period that was not exported completely', () => {
  it('is named at the top, is compared with nothing, and is a gap in the table of a chart', async () => {
    const tab = await open('/?period=2001-01-01..2001-01-31&view=3:table')
    expect(await tab.locator('.context').textContent()).toContain('Not everything of this period was exported')
    const changes = await tab.locator('.figure .change').allTextContents()
    expect(changes.join(' ')).not.toMatch(/▲|▼/)
    const cells = await tab.locator('#tile-3 td').allTextContents()
    if (cells.length > 0) expect(new Set(cells)).toEqual(new Set(['not exported']))
    else expect(await tab.locator('#tile-3 .empty').textContent()).toContain('was not exported')
  })
})

it('beside a list with test conversations, figures are said to leave them out', async () => {
  const tab = await open('/conversations?period=last-12-months')
  expect(await tab.locator('.context').textContent()).toContain('test conversations left out')
  await tab.locator('label', { hasText: 'Also tests' }).click()
  await settled(tab)
  expect(await tab.locator('.context').textContent()).toContain('figures leave out test conversations')
})

it('days that were not exported are named where else nothing would need the operator', async () => {
  const nothing = { webhooksRefused: [], checks: [], models: [], workspaces: [], targets: [], held: [] }
  const { running } = await world.start({ pipeline: async () => nothing })
  const tab = await open('/pipeline', running.url)
  expect(await tab.locator('.strips .note', { hasText: 'missing' }).count()).toBeGreaterThan(0)
  const needs = (await tab.locator('.needs').textContent())!
  expect(needs).toContain('days are not exported completely')
  expect(needs).not.toContain('Nothing needs you')
})

describe('a tile', () => {
  it('that fails says so and can be asked again, and the others stay', async () => {
    const { page: tab } = await openPage(browser)
    let isBroken = true
    await tab.route('**/v1/metrics/query', async route => {
      const { queries } = route.request().postDataJSON() as { queries: { metrics: string[] }[] }
      const asked = queries.some(({ metrics }) => metrics.includes('backlog_open'))
      if (!asked || !isBroken) return route.continue()
      const error = { error: { code: 'QUERY_MEMORY', what: 'It took too much memory.', hint: 'Ask for less.' } }
      return route.fulfill({ status: 507, contentType: 'application/json', body: JSON.stringify(error) })
    })
    await tab.goto(`${world.running.url}/service?period=last-12-months`)
    await settled(tab)
    const failed = tab.locator('.failed')
    expect(await failed.first().textContent()).toContain('It took too much memory.')
    isBroken = false
    for (let left = await failed.count(); left > 0; left = await failed.count()) {
      await failed.first().locator('button').click()
      await settled(tab)
    }
    expect(await tab.locator('.tile canvas').count()).toBeGreaterThan(2)
  })

  it('offers the same actions everywhere: table, SQL, definition, CSV, link', async () => {
    const tab = await open('/?period=last-12-months')
    const tile = tab.locator('#tile-1')
    await tile.locator('.actions > button').click()
    expect(await tile.locator('.panel button').allTextContents()).toEqual(
      expect.arrayContaining(['Table', 'SQL', 'Definition', 'Download CSV', 'Copy link']),
    )
    const download = tab.waitForEvent('download')
    await tile.locator('.panel button', { hasText: 'Download CSV' }).click()
    const csv = await readFile(await (await download).path(), 'utf8')
    expect(csv.split('\r\n')[0]).toMatch(/^period,/)
    await tile.locator('.actions > button').click()
    await tile.locator('.panel button', { hasText: 'SQL' }).click()
    const sql = await tile.locator('.sql pre').textContent()
    const { status } = await send(world.running, '/v1/query', { method: 'POST', body: { sql } })
    expect(status).toBe(200)
    expect(new URL(tab.url()).searchParams.get('view')).toBe('1:sql')
    await tab.reload()
    await settled(tab)
    expect(await tile.locator('.sql pre').textContent()).toBe(sql)
  })
})

it('a metric that cannot be compared leaves the sentences of the others', async () => {
  const { page: tab } = await openPage(browser)
  let isBroken = true
  await tab.route('**/v1/metrics/query', async route => {
    const response = await route.fetch()
    const { queries } = route.request().postDataJSON() as { queries: { metrics: string[]; compare?: boolean }[] }
    const body = await response.json()
    const error = { code: 'QUERY_MEMORY', what: 'It took too much memory.', hint: 'Ask for less.' }
    for (const [at, { metrics, compare }] of queries.entries())
      if (isBroken && compare && metrics[0] === 'resolution_rate') body.answers[at] = { error }
    return route.fulfill({ response, json: body })
  })
  await tab.goto(`${world.running.url}/quality?period=last-12-months`)
  await settled(tab)
  const changes = tab.locator('.changes')
  expect(await changes.locator('.doubt').textContent()).toContain('could not be compared: It took too much memory.')
  expect(await changes.locator('.failed').count()).toBe(0)
  expect(await changes.locator('li, p:not(.doubt)').count()).toBeGreaterThan(0)
  isBroken = false
  await changes.locator('button').click()
  await settled(tab)
  expect(await changes.locator('.doubt').count()).toBe(0)
})

/** Replaces the snapshot by one of a later time with half of the conversations. */
async function publishAgain(path: string): Promise<void> {
  const next = `${path}.of-test`
  await writeFile(next, await readFile(path))
  const instance = await DuckDBInstance.create(next)
  const connection = await instance.connect()
  await connection.run('DELETE FROM marts.fct_conversations WHERE hash(conversation_id) % 2 = 0')
  await connection.run('UPDATE _publication SET seq = seq + 1, as_of = as_of + INTERVAL 1 HOUR')
  connection.closeSync()
  instance.closeSync()
  await rename(next, path)
}

it('a new snapshot renews the figures, and an open menu, the scroll position and the focus stay', async () => {
  const tab = await open('/?period=last-12-months')
  const before = await tab.locator('.figure .value').first().textContent()
  await tab.evaluate('scrollTo(0, 300)')
  await tab.locator('#tile-2 .actions > button').click()
  await publishAgain(world.path)
  await until(async () => {
    // The page looks for a new snapshot when it is shown again, besides every 15 seconds.
    await tab.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`)
    return (await tab.locator('.figure .value').first().textContent()) !== before
  })
  await settled(tab)
  const { json } = await send(world.running, '/v1/metrics/query', {
    method: 'POST',
    body: { queries: [{ metrics: ['conversations'], period: 'last-12-months' }] },
  })
  const { value } = json.answers[0].metrics[0].series.at(-1).cells[0]
  expect(await tab.locator('.figure .value').first().textContent()).toContain(value.toLocaleString('en-US'))
  expect(await tab.locator('#tile-2 .panel').count()).toBe(1)
  expect(await tab.evaluate('scrollY')).toBe(300)
  expect(await tab.evaluate(`document.activeElement.closest('#tile-2') !== null`)).toBe(true)
})

it('Tab reaches every control of a page once, in the order of the page, and leaves it', async () => {
  const tab = await open('/quality?period=last-12-months')
  const FOCUSABLE = `a[href], button:not(:disabled), input, select, [tabindex="0"]`
  const count = (await tab.evaluate(
    `[...document.querySelectorAll('${FOCUSABLE}')].filter(one => one.offsetParent !== null || one.matches('.skip, .side *')).length`,
  )) as number
  await tab.evaluate(`document.body.focus()`)
  const reached: string[] = []
  for (let at = 0; at < count + 5; at += 1) {
    await tab.keyboard.press('Tab')
    const found = (await tab.evaluate(
      `(one => one === document.body ? '' : [...document.querySelectorAll('${FOCUSABLE}')].indexOf(one).toString())(document.activeElement)`,
    )) as string
    if (found === '') break
    reached.push(found)
  }
  const places = reached.map(Number)
  expect(places.every(place => place >= 0)).toBe(true)
  expect(places).toEqual([...new Set(places)].sort((a, b) => a - b))
  expect(places.length).toBeGreaterThan(count * 0.9)
})
