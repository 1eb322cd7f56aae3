// Days and times where a zone changes its clocks: in the warehouse, in marts, and in targets, whose times are UTC.
import { beforeAll, describe, expect, it } from 'vitest'
import { refreshMarts } from '../../src/warehouse/marts/refresh.ts'
import { landConversations } from '../warehouse/landed-pages.ts'
import { temporaryWarehouse, type Workspace } from '../warehouse/temporary-warehouse.ts'
import { publishTo } from './published.ts'
import { newParquet, rowsOf } from './published-parquet.ts'

const app = temporaryWarehouse()

/** Times around both changes of a year, with the local day of each. */
const ZONES = {
  // Clocks go from 02:00 to 03:00, and from 03:00 to 02:00.
  'Europe/Berlin': {
    '2026-03-28T22:59:59.999Z': '2026-03-28',
    '2026-03-28T23:00:00.000Z': '2026-03-29',
    '2026-03-29T00:59:59.999Z': '2026-03-29',
    '2026-03-29T01:00:00.000Z': '2026-03-29',
    '2026-03-29T21:59:59.999Z': '2026-03-29',
    '2026-03-29T22:00:00.000Z': '2026-03-30',
    '2026-10-24T21:59:59.999Z': '2026-10-24',
    '2026-10-24T22:00:00.000Z': '2026-10-25',
    '2026-10-25T00:30:00.000Z': '2026-10-25',
    '2026-10-25T01:30:00.000Z': '2026-10-25',
    '2026-10-25T22:59:59.999Z': '2026-10-25',
    '2026-10-25T23:00:00.000Z': '2026-10-26',
  },
  // Clocks change at midnight: 2018-11-04 begins at 01:00, and the last hour of 2019-02-16 occurs twice.
  'America/Sao_Paulo': {
    '2018-11-04T02:59:59.999Z': '2018-11-03',
    '2018-11-04T03:00:00.000Z': '2018-11-04',
    '2018-11-05T01:59:59.999Z': '2018-11-04',
    '2018-11-05T02:00:00.000Z': '2018-11-05',
    '2019-02-17T01:30:00.000Z': '2019-02-16',
    '2019-02-17T02:30:00.000Z': '2019-02-16',
    '2019-02-17T02:59:59.999Z': '2019-02-16',
    '2019-02-17T03:00:00.000Z': '2019-02-17',
  },
} as const

const places = new Map<string, Workspace>()

beforeAll(async () => {
  for (const [timeZone, times] of Object.entries(ZONES)) {
    const place = app.workspace({ timeZone })
    places.set(timeZone, place)
    const records = Object.keys(times).map(text => {
      const ms = Date.parse(text)
      const tokenUsage = { cumulativeTotalTokens: 1 }
      return { ID: text, ts: ms, firstMessageTS: ms, lastMessageTS: ms, lastModified: ms, tokenUsage }
    })
    await place.load(await landConversations(place.landing, { records }))
  }
  await refreshMarts(app.warehouse.writer)
})

describe.each(Object.keys(ZONES) as (keyof typeof ZONES)[])('in %s', timeZone => {
  const times: Record<string, string> = ZONES[timeZone]

  it('each conversation and its cost belong to one local day, and daily sums have all of them', async () => {
    const place = places.get(timeZone)!
    const days = Object.entries(times).map(([conversation_id, day]) => ({ conversation_id, day }))
    for (const table of ['conversations', 'marts.fct_conversations', 'marts.fct_spend'])
      expect(await place.rows(table, 'conversation_id, day::VARCHAR AS day'), table).toEqual(days)
    const counts = new Map<string, number>()
    for (const day of Object.values(times)) counts.set(day, (counts.get(day) ?? 0) + 1)
    const daily = [...counts].map(([day, count]) => ({ day, conversations: String(count), tokens: String(count) }))
    expect(await place.rows('marts.conversations_daily', 'day::VARCHAR AS day, conversations, tokens')).toEqual(daily)
  })

  it('the calendar has each day once, without a gap', async () => {
    const all = await places.get(timeZone)!.rows('marts.dim_calendar', 'day::VARCHAR AS day')
    const sorted = Object.values(times).sort()
    const [first, last] = [Date.parse(sorted[0]!), Date.parse(sorted.at(-1)!)]
    const days = Array.from({ length: (last - first) / 86_400_000 + 1 }, (_, index) => ({
      day: new Date(first + index * 86_400_000).toISOString().slice(0, 10),
    }))
    expect(all).toEqual(days)
  })
})

it('a target has the same days, and times of UTC', async () => {
  const ids = Object.values(ZONES).flatMap(times => Object.entries(times))
  const expected = ids.map(([text, day]) => [text, day, String(Date.parse(text))]).sort()
  const select = 'conversation_id, day::VARCHAR, epoch_ms(ts)::VARCHAR'
  const parquet = newParquet(app.home)
  await publishTo(app, parquet)
  expect(await rowsOf(parquet, 'conversations', select)).toEqual(expected)
  // Partitions use months in UTC.
  const months = await rowsOf(parquet, 'conversations', 'DISTINCT month')
  expect(months.flat()).toEqual([...new Set(ids.map(([text]) => text.slice(0, 7)))].sort())
})
