// A month of polls costs one request for each agent and poll, and bills each session once.
import { expect, it } from 'vitest'
import { DAY, MINUTE } from '../../../src/core/time.ts'
import { rounds } from '../../tier.ts'
import { isProbe } from '../simulated/probe.ts'
import { simulatedApp } from '../simulated/simulated-app.ts'
import { readThrough, type TrueRecord, truthOf } from '../simulated/truth.ts'

/** The usual tier polls rarely, because a poll takes a tenth of a second, half of it for about twenty small DuckDB statements. */
const PACES = [
  { days: 2, pollsADay: 2 },
  { days: 28, pollsADay: rounds('MONTH_POLLS_A_DAY', { usual: 1 / 7, deep: 96 }) },
]
const POLLS = PACES.reduce((sum, { days, pollsADay }) => sum + days * pollsADay, 0)
const AGENTS = 2

it('a quiet workspace that is polled for 30 days is billed for no session twice', {
  timeout: 600_000 + POLLS * 1_000,
}, async () => {
  const simulated = await simulatedApp({ sandbox: { agents: AGENTS, conversations: 20, arrivalsPerDay: 1 } })
  const { sandbox } = simulated
  const known = new Map<unknown, TrueRecord>()
  /** Records each newly settled conversation as it is exported now: it is billed once, for the sessions that it has now. */
  const learn = (): void => {
    for (const one of truthOf(sandbox, { throughMs: readThrough(sandbox.clock.now(), 2 * MINUTE) }))
      if (!known.has(one.record.ID)) known.set(one.record.ID, one)
  }

  await simulated.sync()
  learn()
  const atFirst = (await simulated.exported()).length
  for (const { days, pollsADay } of PACES) {
    await simulated.polls({
      count: days * pollsADay,
      everyMs: DAY / pollsADay,
      each(report) {
        expect([report.outcome, report.requests]).toEqual(['done', AGENTS])
        if (report.conversations > 0) learn()
      },
    })
  }
  learn()

  const exported = await simulated.exported()
  expect(exported.length - atFirst).toBe(AGENTS * POLLS)
  const billable = [...known.values()].reduce((sum, one) => sum + one.billableSessions, 0)
  expect(exported.reduce((sum, request) => sum + request.billed, 0)).toBe(billable)
  expect(exported.reduce((sum, request) => sum + request.returned, 0)).toBe(known.size)
  expect(known.size).toBeGreaterThan(35)
  expect((await simulated.served()).filter(isProbe)).toHaveLength(1)
  const rows = await simulated.rows<{ id: string }>('SELECT conversation_id AS id FROM conversations ORDER BY id')
  expect(rows.map(row => row.id)).toEqual([...known.keys()].sort())
  const windows = await simulated.rows('SELECT count(*)::INTEGER AS n, bool_and(done) AS done FROM _windows')
  expect(windows).toEqual([{ n: atFirst + AGENTS * POLLS, done: true }])
})
