// How a first sync divides the quota between history and the new conversations of the rest of the period.
import { describe, expect, it } from 'vitest'
import { DAY, MINUTE } from '../../../src/core/time.ts'
import { isDeep } from '../../tier.ts'
import { type SimulatedApp, START_MS } from '../simulated/open-simulated-app.ts'
import { simulatedApp } from '../simulated/simulated-app.ts'
import { readThrough, truthOf } from '../simulated/truth.ts'

const idsIn = async (simulated: SimulatedApp): Promise<Set<string>> =>
  new Set((await simulated.rows<{ id: string }>('SELECT conversation_id AS id FROM conversations')).map(({ id }) => id))

const trueIds = (simulated: SimulatedApp): string[] =>
  truthOf(simulated.sandbox, { throughMs: readThrough(simulated.sandbox.clock.now(), 2 * MINUTE) }).map(({ record }) =>
    String(record.ID),
  )

const billedForHistory = async ({ rows }: SimulatedApp): Promise<number> =>
  (await rows<{ n: number }>(`SELECT sum(billed)::INTEGER AS n FROM _windows WHERE kind = 'tail'`))[0]!.n

/** Syncs once a day until the end of the billing period. */
async function syncDaily(simulated: SimulatedApp, days: number): Promise<void> {
  for (let poll = 0; poll < days - 1; poll++) {
    simulated.advance(DAY)
    const { outcome } = await simulated.sync()
    expect(['done', 'period-spent']).toContain(outcome)
    expect(await simulated.rows(`FROM _windows WHERE kind = 'head' AND NOT done`)).toEqual([])
  }
}

describe('the quota reserve of a busy workspace', () => {
  const MONTH = { periodDays: 30, conversations: 1_800, historyDays: 90, quotaSessions: 1_000 }
  const EIGHT_DAYS = { periodDays: 8, conversations: 480, historyDays: 24, quotaSessions: 320 }
  const FOUR_DAYS = { periodDays: 4, conversations: 240, historyDays: 12, quotaSessions: 160 }
  it.each(isDeep ? [EIGHT_DAYS, MONTH] : [FOUR_DAYS])(
    'leaves enough for the new conversations of the rest of the period: $periodDays days',
    async period => {
      const simulated = await simulatedApp({ sandbox: { agents: 2, arrivalsPerDay: 20, ...period } })
      const first = await simulated.sync()
      expect(first).toMatchObject({ outcome: 'period-spent', failures: [] })
      // No share is configured: new conversations are expected to use all sessions that are left.
      expect(first.reserve).toMatchObject({ share: null })
      const history = new Set(trueIds(simulated))
      await syncDaily(simulated, period.periodDays)
      expect(simulated.sandbox.clock.now()).toBeLessThan(START_MS + period.periodDays * DAY)
      const held = await idsIn(simulated)
      const missing = trueIds(simulated).filter(id => !history.has(id) && !held.has(id))
      // Only conversations that were skipped before a person wrote in them may be missing: this test re-reads nothing.
      const skipped = `SELECT sum(scanned - returned)::INTEGER AS n FROM _requests WHERE kind = 'head'`
      expect(missing.length).toBeLessThanOrEqual((await simulated.rows<{ n: number }>(skipped))[0]!.n)
      expect(await simulated.usage()).toMatchObject({ overagePacksCharged: 0 })
    },
  )

  it('is released to history before the period ends if new conversations have not used it', async () => {
    const simulated = await simulatedApp({ sandbox: { agents: 2, arrivalsPerDay: 0, ...EIGHT_DAYS } })
    expect(await simulated.sync()).toMatchObject({ outcome: 'period-spent', reserve: { share: null } })
    const { billableUsedThisPeriod: before } = await simulated.usage()
    simulated.advance(7 * DAY)
    await simulated.sync()
    const { billableUsedThisPeriod, overagePacksCharged } = await simulated.usage()
    expect(billableUsedThisPeriod).toBeGreaterThan(before + 50)
    expect(overagePacksCharged).toBe(0)
  })

  it('is nothing if headReserve is 0: history then uses all sessions', async () => {
    const simulated = await simulatedApp({
      sandbox: { agents: 2, arrivalsPerDay: 20, ...EIGHT_DAYS },
      settings: { headReserveShare: 0 },
    })
    const report = await simulated.sync()
    expect(report).toMatchObject({ outcome: 'period-spent' })
    expect(report).not.toHaveProperty('reserve')
    const { billableUsedThisPeriod, overagePacksCharged } = await simulated.usage()
    expect(billableUsedThisPeriod).toBeGreaterThan(EIGHT_DAYS.quotaSessions - 8)
    expect(overagePacksCharged).toBe(0)
  })

  it('does not limit history that is small compared with the quota: its pages have the usual size', async () => {
    const simulated = await simulatedApp({
      sandbox: { agents: 1, conversations: 250, historyDays: 900, quotaSessions: 50_000 },
    })
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', windowsLeft: 0 })
    expect((await simulated.exported()).every(({ query }) => query.limit === '100')).toBe(true)
  })
})

describe('an overage pack that a user allows', () => {
  const SPENT = { conversations: 600, historyDays: 2_000, agents: 2, quotaSessions: 150 }

  it('is spent in large pages again', async () => {
    const simulated = await simulatedApp({ sandbox: SPENT })
    expect(await simulated.sync()).toMatchObject({ outcome: 'period-spent' })
    const before = await simulated.exported()
    expect(Math.min(...before.map(({ query }) => Number(query.limit)))).toBeLessThanOrEqual(5)
    const report = await simulated.sync({ allowedPacks: 3 })
    expect(report).toMatchObject({ outcome: 'done', windowsLeft: 0 })
    const after = (await simulated.exported()).slice(before.length)
    expect(after.length).toBeLessThan(30)
    expect(Math.max(...after.map(({ query }) => Number(query.limit)))).toBe(100)
  })

  it('is spent on history even if more than that is reserved for new conversations', async () => {
    const busy = { agents: 2, conversations: 900, historyDays: 15, arrivalsPerDay: 60, quotaSessions: 200 }
    const simulated = await simulatedApp({ sandbox: busy })
    await simulated.sync()
    simulated.advance(6 * DAY)
    expect(await simulated.sync()).toMatchObject({ outcome: 'period-spent' })
    // The sync of a schedule exports only new conversations, which are expected to need more than the pack.
    const { sessions } = await simulated.sync({ allowedPacks: 1, unattended: true })
    const before = await billedForHistory(simulated)
    const report = await simulated.sync({ allowedPacks: 1 })
    expect(report.sessions + sessions).toBeGreaterThan(900)
    expect(await billedForHistory(simulated)).toBe(before + report.sessions)
    expect(await simulated.usage()).toMatchObject({ overagePacksCharged: 1 })
  })
})

describe('a workspace most of whose agents have no conversations', () => {
  const QUIET = { agents: 300, conversations: 150, quotaSessions: 500 }

  it('is exported by its first sync: an agent whose history is empty needs no sessions', async () => {
    const simulated = await simulatedApp({ sandbox: QUIET })
    const report = await simulated.sync()
    expect(report).toMatchObject({ outcome: 'done', windowsLeft: 0 })
    expect((await idsIn(simulated)).size).toBe(trueIds(simulated).length)
  })
})
