// Counts at the limit of BIGINT: a conversation that has one keeps no mart from being brought up to date.
import { expect, it } from 'vitest'
import { DAY, MINUTE } from '../../../src/core/time.ts'
import { refreshMarts } from '../../../src/warehouse/marts/refresh.ts'
import { landConversations, SENT_AT_MS } from '../landed-pages.ts'
import { temporaryWarehouse } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

const START = Date.UTC(2026, 10, 1, 12)
/** The largest count that a number of JSON holds; as a text, since JSON.stringify would lose digits. */
const LARGEST = '9223372036854774784'
const LIMIT = '9223372036854775807'

const one = (ID: string, count: string, day = 0) => ({
  ...{ ID, firstMessageTS: START, lastMessageTS: START + day * DAY, lastModified: START + day * DAY + MINUTE },
  messagesNum: count,
  tokenUsage: {
    ...{
      cumulativeInputTokens: count,
      cumulativeOutputTokens: count,
      cumulativeTotalTokens: count,
      cumulativeUsd: 1e308,
    },
    usagePerModel: { m: { inputTokens: count, outputTokens: count, totalTokens: count, usd: 1e308 } },
  },
})

it('sums of counts end at the limit of BIGINT, and the difference of two is not beyond it', async () => {
  const { landing, load, rows } = app.workspace()
  await load(
    await landConversations(landing, { records: [one('a', LARGEST), one('b', LARGEST), one('c', `-${LARGEST}`)] }),
  )
  await refreshMarts(app.warehouse.writer)
  const daily = () =>
    rows('marts.conversations_daily', 'day::VARCHAR AS day, messages::VARCHAR AS messages, tokens::VARCHAR AS tokens')
  expect(await daily()).toEqual([{ day: '2026-11-01', messages: LARGEST, tokens: LARGEST }])
  await load(
    await landConversations(landing, { records: [one('c', LARGEST, 1), one('d', '5', 1)], sentAtMs: SENT_AT_MS + DAY }),
  )
  await refreshMarts(app.warehouse.writer)
  expect(await daily()).toEqual([
    { day: '2026-11-01', messages: LIMIT, tokens: LARGEST },
    { day: '2026-11-02', messages: '0', tokens: LIMIT },
  ])
  expect(await rows('marts.token_usage_daily', 'day::VARCHAR AS day, tokens::VARCHAR AS tokens')).toEqual([
    { day: '2026-11-01', tokens: LARGEST },
    { day: '2026-11-02', tokens: LIMIT },
  ])
})
