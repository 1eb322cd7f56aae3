import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { lengthOf, periodsOf } from '../../../src/core/quota/period-keys.ts'
import { DAY } from '../../../src/core/time.ts'
import { keysReported, reportedPeriods } from '../../../src/warehouse/planning/planner-queries.ts'
import { answersOf, keyedRuns } from '../../core/quota/keyed-vendor.ts'
import { rounds } from '../../tier.ts'
import { temporaryWarehouse } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

/** The length of a billing period, given the days on which pages reported each key. */
async function lengthInDays(reported: [day: number, key: string][]): Promise<number | null> {
  const { id } = app.workspace()
  const { writer } = app.warehouse
  for (const [day, key] of reported)
    await writer.run(
      `INSERT INTO _quota (workspace_id, reported_at, period_key) VALUES ('${id}', TIMESTAMPTZ '2026-01-01' + INTERVAL ${day} DAY, '${key}')`,
    )
  const length = lengthOf(periodsOf(await keysReported(writer, id)))
  return length === null ? null : length / DAY
}

const twice = (day: number, key: string): [number, string][] => [
  [day, key],
  [day + 1, key],
]

describe('the length of a billing period', () => {
  it('is unknown until a period was seen to begin and to end', async () => {
    expect(await lengthInDays([])).toBeNull()
    expect(await lengthInDays([...twice(3, 'a'), ...twice(20, 'b')])).toBeNull()
  })

  it('is that of the period that was', async () => {
    expect(await lengthInDays([...twice(3, 'a'), ...twice(20, 'b'), ...twice(50, 'c')])).toBe(30)
  })

  it('is the median, so that a month in which nobody synced does not count', async () => {
    const reported = [...twice(0, 'a'), ...twice(20, 'b'), ...twice(50, 'c'), ...twice(110, 'e'), ...twice(141, 'f')]
    expect(await lengthInDays(reported)).toBe(31)
  })

  it('is not shortened by a period that a single answer reported', async () => {
    expect(await lengthInDays([...twice(0, 'a'), ...twice(20, 'b'), [30, 'x'], ...twice(50, 'c')])).toBe(30)
  })
})

describe('period keys that name days', () => {
  it('name the periods whose count increases, with any bills under them and any delay of reports', async () => {
    const { writer } = app.warehouse
    await fc.assert(
      fc.asyncProperty(keyedRuns, async run => {
        const { id } = app.workspace()
        const { answers, sinceMs } = answersOf(run)
        const reported = answers.map(({ sentAtMs, key, used }) => `('${id}', epoch_ms(${sentAtMs}), '${key}', ${used})`)
        const requests = answers.map(
          ({ sentAtMs, receivedAtMs, billed }, index) =>
            `('${id}', '${index}', 'run', 'conversations', 'head', epoch_ms(${sentAtMs}), ${receivedAtMs - sentAtMs}, 200, 0, ${billed})`,
        )
        await writer.run(
          `INSERT INTO _quota (workspace_id, reported_at, period_key, used_sessions) VALUES ${reported.join()}`,
        )
        await writer.run(
          `INSERT INTO _requests (workspace_id, file, run, stream, window_name, sent_at, duration_ms, status, body_bytes, billed_sessions) VALUES ${requests.join()}`,
        )
        const periods = periodsOf(await keysReported(writer, id))
        expect(periods.map(period => period.sinceMs)).toEqual(sinceMs)
      }),
      { numRuns: rounds('FAULT_RUNS', { usual: 6, deep: 200 }), endOnFailure: true },
    )
  })
})

describe('reports of pages that were requested at the same moment', () => {
  interface Answer {
    key: string
    used: number
    included: number
    billed: number
  }

  const AT = `TIMESTAMPTZ '2026-01-01 09:00'`

  /** What is read of these answers, stored in this order and in the reverse one. */
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
      return { keys: await keysReported(writer, id), periods: await reportedPeriods(writer, id) }
    }
    return [await read(answers), await read(answers.toReversed())]
  }

  const ANSWERS = [
    { key: 'a', used: 169, included: 900, billed: 4 },
    { key: 'a', used: 166, included: 500, billed: 1 },
    { key: 'a', used: 165, included: 900, billed: 2 },
  ]

  it('do not contradict each other: the highest count and the smallest quota are those of the period', async () => {
    for (const { periods } of await readOf(ANSWERS))
      expect(periods).toMatchObject([{ usedSessions: 169, includedSessions: 500 }])
  })

  it('leave open which of the requests was whose, so others may have used as much as if it was the cheapest', async () => {
    for (const { keys } of await readOf(ANSWERS)) expect(keys).toMatchObject([{ mostUsed: 169, carried: 168 }])
  })

  it('name several keys in one order, and that of the most reports has the bills', async () => {
    const other = { key: 'b', used: 3, included: 900, billed: 3 }
    for (const { keys, periods } of await readOf([...ANSWERS, other, other])) {
      expect(keys).toMatchObject([{ key: 'a' }, { key: 'b' }])
      expect(periods).toMatchObject([
        { key: 'b', ownSessions: 0 },
        { key: 'a', ownSessions: 13 },
      ])
    }
  })
})
