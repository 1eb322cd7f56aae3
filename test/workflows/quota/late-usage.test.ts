// Vendors that report usage late or not at all, or name no billing period or a wrong one: no overage, and no unused quota.
import { describe, expect, it } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../../src/core/time.ts'
import { isDeep } from '../../tier.ts'
import type { SimulatedApp } from '../simulated/open-simulated-app.ts'
import { simulatedApp } from '../simulated/simulated-app.ts'
import { readThrough, truthOf } from '../simulated/truth.ts'

const QUOTA = 200
/** A workspace in which few new conversations are expected, so history may use nearly all sessions. */
const WORLD = { conversations: 400, historyDays: 1_800, quotaSessions: QUOTA }

const found = async (simulated: SimulatedApp): Promise<number> =>
  (await simulated.rows<{ n: number }>('SELECT count(*)::INTEGER AS n FROM conversations'))[0]!.n

describe('a workspace whose vendor reports usage late', () => {
  it.runIf(isDeep).each(['1', '2', '5'] as const)(
    'is charged no overage pack if usage is %s requests late',
    async lag => {
      const simulated = await simulatedApp({ sandbox: { ...WORLD, readings: { 'usage-lag': lag } } })
      expect(await simulated.sync()).toMatchObject({ outcome: 'period-spent' })
      const { usage } = simulated
      const first = await usage()
      expect(first.overagePacksCharged).toBe(0)
      expect(first.billableUsedThisPeriod).toBeGreaterThan(QUOTA * 0.8)
      // Two hours later the lease log has been compacted, so the usage is recovered from the landing.
      for (let run = 0; run < 2; run++) {
        simulated.advance(2 * HOUR)
        await simulated.restart()
        await simulated.sync()
      }
      expect(await usage()).toMatchObject({ overageUsedThisPeriod: 0 })
    },
  )

  it('is charged no overage pack and exports everything in the following periods', async () => {
    const simulated = await simulatedApp({ sandbox: { ...WORLD, conversations: 230, readings: { 'usage-lag': '5' } } })
    expect(await simulated.sync()).toMatchObject({ outcome: 'period-spent' })
    expect((await simulated.usage()).billableUsedThisPeriod).toBeGreaterThan(QUOTA * 0.8)
    // Two hours later the lease log has been compacted, so the usage is recovered from the landing.
    simulated.advance(2 * HOUR)
    await simulated.restart()
    for (let period = 0; period < 6; period++) {
      if ((await simulated.sync()).outcome === 'done') break
      expect((await simulated.usage()).overageUsedThisPeriod).toBe(0)
      simulated.advance(30 * DAY)
    }
    const throughMs = readThrough(simulated.sandbox.clock.now(), 2 * MINUTE)
    expect(await found(simulated)).toBe(truthOf(simulated.sandbox, { throughMs }).length)
  })
})

describe('a single answer that names an unknown billing period', () => {
  const world = { conversations: 100, historyDays: 1_800, quotaSessions: 5_000 }
  const stale = (at: number) => ({ script: [{ at, fault: 'unseen-period-reported' as const }] })

  it.runIf(isDeep).each([1, 2, 4])('stops no export as answer %i', async at => {
    const simulated = await simulatedApp({ sandbox: world, settings: { maxPage: 20 } })
    simulated.sandbox.faults.set(stale(at))
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', windowsLeft: 0 })
    expect(simulated.sandbox.faults.report().served['unseen-period-reported']).toBe(1)
  })

  it('stops no export after a restart or a replay', async () => {
    const simulated = await simulatedApp({ sandbox: world, settings: { maxPage: 10 } })
    simulated.sandbox.faults.set(stale(5))
    await simulated.sync({ maxRequests: 5 })
    simulated.advance(3 * HOUR)
    await simulated.restart()
    expect(await simulated.sync({ maxRequests: 3 })).toMatchObject({ outcome: 'limit-reached', requests: 3 })
    simulated.advance(3 * HOUR)
    await simulated.replay()
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', windowsLeft: 0 })
  })
})

describe('a workspace whose vendor names the previous, used-up period in every third answer', () => {
  const CASES = [
    { agents: 2, maxPage: 10 },
    { agents: 1, maxPage: 5 },
    { agents: 3, maxPage: 20 },
    { agents: 6, maxPage: 20 },
  ]
  // Deep tier only: npm test covers such answers in vendor-faults.test.ts.
  it.runIf(isDeep).each(CASES)(
    'is exported completely: $agents agents in pages of $maxPage',
    async ({ agents, maxPage }) => {
      const simulated = await simulatedApp({
        sandbox: {
          conversations: 150,
          historyDays: 1_800,
          agents,
          quotaSessions: 5_000,
          speed: 1,
          readings: { 'period-key': 'stale' },
        },
        settings: { maxPage },
      })
      expect(await simulated.sync()).toMatchObject({ outcome: 'done', windowsLeft: 0 })
      for (let run = 0; run < 2; run++) {
        simulated.advance(20 * MINUTE)
        await simulated.restart()
        expect(await simulated.sync()).toMatchObject({ outcome: 'done', windowsLeft: 0 })
      }
    },
  )
})

describe('a workspace whose vendor names no billing period', () => {
  const LAGS = ['0'] as const
  it.each(isDeep ? ([...LAGS, '5'] as const) : LAGS)(
    'sends a few probes once the quota is used, and exports again when the period has changed, with usage %s requests late',
    async lag => {
      const readings = { 'period-key': 'absent', 'usage-lag': lag } as const
      // With `speed: 1` time passes between answers; requests of the same millisecond could not be ordered.
      const simulated = await simulatedApp({ sandbox: { ...WORLD, speed: 1, readings } })
      const report = await simulated.sync()
      expect(report.outcome).toBe('period-spent')
      // Far fewer requests than the hourly limit allows: only a few of them are probes.
      expect(report.requests).toBeLessThan(60)
      const { usage } = simulated
      expect(await usage()).toMatchObject({ overageUsedThisPeriod: 0 })
      expect((await usage()).billableUsedThisPeriod).toBeGreaterThan(QUOTA * 0.8)
      simulated.sandbox.conditions.set({ turnPeriod: true })
      simulated.advance(10 * MINUTE)
      await simulated.sync()
      const { billableUsedThisPeriod, overageUsedThisPeriod } = await usage()
      expect(billableUsedThisPeriod).toBeGreaterThan(QUOTA * 0.5)
      expect(overageUsedThisPeriod).toBe(0)
    },
  )
})

describe('a workspace whose vendor names periods by the day and counts sessions by the month', () => {
  it('does not spend the reserve for new conversations of the month on history', async () => {
    const simulated = await simulatedApp({
      sandbox: {
        conversations: 500,
        agents: 2,
        historyDays: 150,
        arrivalsPerDay: 10,
        quotaSessions: 600,
        readings: { 'period-key': 'daily' },
      },
    })
    const history: number[] = []
    for (let day = 0; day < 3; day++) {
      await simulated.sync({ unattended: true })
      const [tail] = await simulated.rows<{ n: number }>(
        "SELECT sum(billed)::INTEGER AS n FROM _windows WHERE kind = 'tail'",
      )
      history.push(tail!.n)
      simulated.advance(DAY)
    }
    // History gets only what earlier days left of the month's reserve. With a reserve for one day, history would get nearly all.
    expect(history.at(-1)! - history[1]!).toBeLessThan(30)
  })
})

describe('a workspace whose vendor reports no usage', () => {
  it('still counts sessions that were exported days ago', async () => {
    const simulated = await simulatedApp({
      sandbox: { conversations: 40, agents: 1, arrivalsPerDay: 10, readings: { usage: 'absent' } },
    })
    const { sessions } = await simulated.sync()
    simulated.advance(3 * DAY)
    await simulated.restart()
    await simulated.sync()
    const quota = simulated.updates
      .flatMap(update => (update.kind === 'governor' ? [update.governor.quota] : []))
      .at(-1)!
    expect(quota.usedSessions + (quota.pending?.sessions ?? 0)).toBeGreaterThan(sessions)
  })
})
