// The quota of a billing period: the reserve, overage packs, and the probe for a new period.
import { describe, expect, it } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../../src/core/time.ts'
import { type SimulatedApp, START_MS } from '../simulated/open-simulated-app.ts'
import { isProbe } from '../simulated/probe.ts'
import { simulatedApp } from '../simulated/simulated-app.ts'
import { readThrough, truthOf } from '../simulated/truth.ts'

const QUOTA = 200
/** A workspace whose history predicts few new conversations. */
const SMALL_QUOTA = { conversations: 270, historyDays: 1_800, quotaSessions: QUOTA }
const RESERVE = { headReserveShare: 0.2 }

const limitsOf = async (simulated: SimulatedApp): Promise<number[]> =>
  (await simulated.exported()).map(request => Number(request.query.limit))

const found = async (simulated: SimulatedApp): Promise<number> =>
  (await simulated.rows<{ n: number }>('SELECT count(*)::INTEGER AS n FROM conversations'))[0]!.n

const truth = (simulated: SimulatedApp): number =>
  truthOf(simulated.sandbox, { throughMs: readThrough(simulated.sandbox.clock.now(), 2 * MINUTE) }).length

describe('a first sync that exceeds the quota', () => {
  it('stops before overage, in ever smaller pages, leaves the reserve to new conversations, and continues in the next period where it stopped', async () => {
    const simulated = await simulatedApp({ sandbox: SMALL_QUOTA, settings: RESERVE })
    const report = await simulated.sync()
    expect(report).toMatchObject({ outcome: 'period-spent', failures: [] })
    expect(report.windowsLeft).toBeGreaterThan(0)
    const usage = await simulated.usage()
    expect(usage.overagePacksCharged).toBe(0)
    expect(usage.billableUsedThisPeriod).toBeLessThanOrEqual(QUOTA * 0.8)
    expect(usage.billableUsedThisPeriod).toBeGreaterThan(QUOTA * 0.7)
    const limits = await limitsOf(simulated)
    expect(Math.min(...limits)).toBeLessThanOrEqual(5)
    expect(Math.max(...limits)).toBeGreaterThanOrEqual(20)
    // The sync counts as a success, because it has read the new conversations; its row names the setting that limits history.
    expect(report.reserve).toMatchObject({ share: RESERVE.headReserveShare })
    expect(report.reserve!.sessions).toBeGreaterThanOrEqual(QUOTA * 0.15)
    expect(await simulated.rows('SELECT success, error_code, error FROM _runs')).toEqual([
      { success: true, error_code: null, error: expect.stringContaining('(headReserve: 0.2)') },
    ])
    for (let period = 0; period < 3; period++) {
      simulated.advance(30 * DAY)
      const { outcome } = await simulated.sync()
      if (outcome === 'done') break
      expect(outcome).toBe('period-spent')
    }
    expect(await found(simulated)).toBe(truth(simulated))
    const returned = (await simulated.exported()).reduce((sum, request) => sum + request.returned, 0)
    // Each change of the page size starts a new generation, which reads the last `ts` again.
    const generations = await simulated.rows<{ n: number }>(
      `SELECT sum((progress->>'$.generation')::INTEGER - 1)::INTEGER AS n FROM _windows`,
    )
    expect(returned - truth(simulated)).toBeLessThanOrEqual(generations[0]!.n * 4)
    expect(await simulated.usage()).toMatchObject({ overagePacksCharged: 0 })
  })

  it('exports new conversations from the reserve while history waits, and continues history with the packs that are allowed', async () => {
    const simulated = await simulatedApp({ sandbox: { ...SMALL_QUOTA, arrivalsPerDay: 10 }, settings: RESERVE })
    await simulated.sync()
    const before = await found(simulated)
    simulated.advance(2 * DAY)
    const report = await simulated.sync()
    expect(report.outcome).toBe('period-spent')
    expect(await found(simulated)).toBeGreaterThan(before + 10)
    expect(await simulated.usage()).toMatchObject({ overagePacksCharged: 0 })

    expect(await simulated.sync({ allowedPacks: 1 })).toMatchObject({ outcome: 'done' })
    expect(await found(simulated)).toBe(truth(simulated))
    expect(await simulated.usage()).toMatchObject({ overagePacksCharged: 1 })
  })

  it('probes once an hour whether the period has changed, and continues once it has', async () => {
    const simulated = await simulatedApp({ sandbox: { ...SMALL_QUOTA, periodDays: 0.16 }, settings: RESERVE })
    const history = { untilMs: START_MS - DAY }
    expect(await simulated.sync(history)).toMatchObject({ outcome: 'period-spent' })
    expect(await simulated.sync(history)).toMatchObject({ outcome: 'period-spent', requests: 0 })
    const asked: number[] = []
    for (let round = 0; round < 20; round++) {
      simulated.advance(31 * MINUTE)
      const { outcome, sessions, requests } = await simulated.sync(history)
      if (sessions > 0) break
      expect(outcome).toBe('period-spent')
      asked.push(requests)
    }
    // Rounds are 31 minutes apart, so every other round probes, until a round exports again.
    expect(asked).toEqual(asked.map((_, round) => round % 2))
    const probes = (await simulated.served()).filter(isProbe)
    expect(probes.filter(probe => probe.billed > 0)).toEqual([])
    expect(probes.length).toBeGreaterThanOrEqual(3)
    // A probe that reports another period is repeated at once: two probes have the same time.
    const times = [...new Set(probes.map(probe => probe.at))]
    expect(probes.length - times.length).toBeLessThanOrEqual(2)
    for (const [index, at] of times.slice(1).entries()) expect(at - times[index]!).toBeGreaterThanOrEqual(HOUR)
    expect(await simulated.usage()).toMatchObject({ overagePacksCharged: 0 })
  })
})

describe('a quota of another size', () => {
  it('sets the reserve by its own size from the first sync on', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 40, agents: 1, quotaSessions: 2_000 } })
    expect(await simulated.sync()).toMatchObject({ outcome: 'done' })
  })
})
