// The days of changed conversations are computed again even if none of their facts differs.
import { describe, expect, it } from 'vitest'
import { refreshMarts } from '../../../src/warehouse/marts/refresh.ts'
import { landConversations, SENT_AT_MS } from '../landed-pages.ts'
import { temporaryWarehouse } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

describe('the days of a changed conversation', () => {
  it('have its new tags although no fact of it differs', async () => {
    const { landing, load, rows } = app.workspace()
    const { writer } = app.warehouse
    for (const tag of ['vip', 'refund']) {
      const records = [{ ID: 'c', ts: SENT_AT_MS, lastModified: SENT_AT_MS, tags: [tag] }]
      await load(await landConversations(landing, { records }))
      await refreshMarts(writer)
      expect(await rows('marts.tags_daily', 'tag')).toEqual([{ tag }])
    }
  })

  it('have a sum that becomes infinite, and finite again', async () => {
    const { landing, load, rows } = app.workspace()
    const { writer } = app.warehouse
    for (const [satisfaction10, sum] of [
      [1, 2],
      [1e308, 'Infinity'],
      [2, 4],
    ] as const) {
      const csat = { satisfaction10, submittedAt: SENT_AT_MS }
      const records = ['c', 'd'].map(ID => ({ ID, ts: SENT_AT_MS, lastModified: SENT_AT_MS, csat }))
      await load(await landConversations(landing, { records }))
      await refreshMarts(writer)
      expect(await rows('marts.conversations_daily', 'csat_score_sum AS sum')).toEqual([{ sum }])
    }
  })
})
