import { describe, expect, it } from 'vitest'
import { reportedPeriods } from '../../../src/warehouse/planning/planner-queries.ts'
import { temporaryWarehouse } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

describe('reports of pages that were requested at the same time', () => {
  interface Answer {
    key: string
    used: number
    included: number
    billed: number
  }

  const AT = `TIMESTAMPTZ '2026-01-01 09:00'`

  /** Returns the quota read from these answers, stored in this order and in the reverse one. */
  async function readOf(answers: readonly Answer[]) {
    const { writer } = app.warehouse
    const read = async (stored: readonly Answer[]) => {
      const { id } = app.workspace()
      const reports = stored.map(({ key, used, included }) => `('${id}', ${AT}, '${key}', ${used}, ${included})`)
      const requests = stored.map(
        ({ billed }, at) => `('${id}', '${at}', 'run', 'conversations', 'head', ${AT}, 200, 200, 0, ${billed})`,
      )
      await writer.run(
        `INSERT INTO _quota (workspace_id, reported_at, period_key, used_sessions, included_sessions) VALUES ${reports.join()}`,
      )
      await writer.run(
        `INSERT INTO _requests (workspace_id, file, run, stream, window_name, sent_at, duration_ms, status, body_bytes, billed_sessions) VALUES ${requests.join()}`,
      )
      return reportedPeriods(writer, id)
    }
    return [await read(answers), await read(answers.toReversed())]
  }

  const ANSWERS = [
    { key: 'a', used: 169, included: 900, billed: 4 },
    { key: 'a', used: 166, included: 500, billed: 1 },
    { key: 'a', used: 165, included: 900, billed: 2 },
  ]

  it('do not contradict each other: the highest count and the smallest quota are those of the period', async () => {
    for (const periods of await readOf(ANSWERS))
      expect(periods).toMatchObject([{ usedSessions: 169, includedSessions: 500 }])
  })

  it('name several keys in one order, and that of the most reports has the bills', async () => {
    const other = { key: 'b', used: 3, included: 900, billed: 3 }
    for (const periods of await readOf([...ANSWERS, other, other])) {
      expect(periods).toMatchObject([
        { key: 'b', ownSessions: 0 },
        { key: 'a', ownSessions: 13 },
      ])
    }
  })
})
