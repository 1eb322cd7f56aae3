// The quota of a billing period: the reserve for new conversations, overage packs, the probe for a new period, and
// vendors that report usage late, wrongly or not at all.
import { describe, expect, it } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import { START_MS } from '../vendor-model/history.ts'
import { agent, type Scenario, scenario } from '../vendor-model/scenario.ts'

const QUOTA = 200
/** History that predicts few new conversations. */
const OLD = { historyDays: 1_800 }
const SMALL = { includedSessions: QUOTA }
const overspent = ({ usage }: Scenario) => usage().overageUsedThisPeriod

describe('a first sync that exceeds the quota', () => {
  const given = { agents: ['a', 'b', 'c'].map(id => agent(id, 90, OLD)), vendor: SMALL, headReserve: 0.2 }

  it('stops before overage, in ever smaller pages, leaves the reserve to new conversations, and continues in the next period', async () => {
    const quota = scenario(given)
    const report = await quota.sync()
    expect(report).toMatchObject({ outcome: 'period-spent', failures: [], reserve: { share: 0.2 } })
    expect(report.windowsLeft).toBeGreaterThan(0)
    expect(quota.billed()).toBeLessThanOrEqual(QUOTA * 0.8)
    expect(quota.billed()).toBeGreaterThan(QUOTA * 0.7)
    const limits = quota.requests().flatMap(({ isProbe, query }) => (isProbe ? [] : [query.limit]))
    expect(Math.min(...limits)).toBeLessThanOrEqual(5)
    expect(Math.max(...limits)).toBeGreaterThanOrEqual(20)
    for (let period = 0; period < 3 && quota.last().report!.outcome === 'period-spent'; period++) {
      quota.wait(30 * DAY)
      await quota.sync()
      expect(overspent(quota)).toBe(0)
    }
    expect(quota.missing()).toEqual([])
    // Each change of the page size reads the last `ts` again.
    expect(quota.billed() - 270).toBeLessThan(30)
  })

  it('exports new conversations from the reserve while history waits, and history with the packs that are allowed', async () => {
    const quota = scenario({ ...given, agents: ['a', 'b', 'c'].map(id => agent(id, 90, { ...OLD, perDay: 4 })) })
    await quota.sync()
    const before = quota.stored().length
    quota.wait(2 * DAY)
    expect(await quota.sync()).toMatchObject({ outcome: 'period-spent' })
    expect(quota.stored().length).toBeGreaterThan(before + 10)
    expect(overspent(quota)).toBe(0)
    expect(await quota.sync({ allowedPacks: 1 })).toMatchObject({ outcome: 'done' })
    expect(quota.missing()).toEqual([])
    expect(quota.usage()).toMatchObject({ overagePacksCharged: 1 })
  })

  it('probes once an hour whether the period has changed, and continues once it has', async () => {
    const quota = scenario({ ...given, vendor: { ...SMALL, periodDays: 0.4, periodAgeDays: 0 } })
    const history = { untilMs: START_MS - DAY }
    expect(await quota.sync(history)).toMatchObject({ outcome: 'period-spent' })
    expect(await quota.sync(history)).toMatchObject({ outcome: 'period-spent', requests: 0 })
    const asked: number[] = []
    for (let round = 0; round < 30; round++) {
      quota.wait(31 * MINUTE)
      const { sessions, requests } = await quota.sync(history)
      if (sessions > 0) break
      asked.push(requests)
    }
    // Rounds are 31 minutes apart, so every other round probes, until a round exports again.
    expect(asked.length).toBeGreaterThan(10)
    expect(asked).toEqual(asked.map((_, round) => round % 2))
    expect(quota.requests().filter(({ isProbe, billed }) => isProbe && billed > 0)).toEqual([])
    expect(overspent(quota)).toBe(0)
  })
})

describe('the reserve of a busy workspace', () => {
  const busy = (more: object = {}) => ({
    agents: ['a', 'b'].map(id => agent(id, 900, { historyDays: 90, perDay: 10, ...more })),
    vendor: { includedSessions: 1_000, periodAgeDays: 0 },
  })

  it('leaves enough for the new conversations of the rest of the period', async () => {
    const quota = scenario(busy())
    // No share is configured: new conversations are expected to use all sessions that are left.
    expect(await quota.sync()).toMatchObject({ outcome: 'period-spent', failures: [], reserve: { share: null } })
    for (let day = 0; day < 29; day++) {
      quota.wait(DAY)
      await quota.sync()
    }
    const isNew = (key: string) => Number(key.slice(3)) >= 900
    expect(quota.missing().filter(isNew)).toEqual([])
    expect(overspent(quota)).toBe(0)
  })

  it('is released to history before the period ends if new conversations have not used it', async () => {
    const quota = scenario(busy({ perDay: 0 }))
    await quota.sync()
    const before = quota.billed()
    quota.wait(28 * DAY)
    await quota.sync()
    expect(quota.billed()).toBeGreaterThan(before + 50)
    expect(overspent(quota)).toBe(0)
  })

  it('is nothing if headReserve is 0: history then uses all sessions', async () => {
    const quota = scenario({ ...busy(), headReserve: 0 })
    const report = await quota.sync()
    expect(report).toMatchObject({ outcome: 'period-spent' })
    expect(report).not.toHaveProperty('reserve')
    expect(quota.billed()).toBeGreaterThan(1_000 - 8)
    expect(overspent(quota)).toBe(0)
  })

  it('does not limit history that is small compared with the quota: its pages have the usual size', async () => {
    const quota = scenario({ agents: [agent('a', 250, { historyDays: 900 })] })
    expect(await quota.sync()).toMatchObject({ outcome: 'done', windowsLeft: 0 })
    expect(quota.requests().filter(({ isProbe, query }) => !isProbe && query.limit < 100)).toEqual([])
  })

  it('is not what a user spends who allows a pack: that goes to history', async () => {
    const quota = scenario({ ...busy({ historyDays: 15, perDay: 30 }), vendor: SMALL })
    await quota.sync()
    quota.wait(6 * DAY)
    await quota.sync()
    const { sessions } = await quota.sync({ allowedPacks: 1, unattended: true })
    const report = await quota.sync({ allowedPacks: 1 })
    expect(report.sessions + sessions).toBeGreaterThan(900)
    expect(quota.usage()).toMatchObject({ overagePacksCharged: 1 })
    expect(Math.max(...quota.requests(3).map(({ query }) => query.limit))).toBeGreaterThanOrEqual(50)
  })
})

describe('usage that is reported', () => {
  const given = { agents: ['a', 'b'].map(id => agent(id, 200, OLD)), vendor: SMALL }

  it.each([1, 2, 5])(
    '%i requests late charges no overage, and everything arrives in the following periods',
    async value => {
      const quota = scenario({ ...given, behaviours: [{ kind: 'usage-late', value }] })
      expect(await quota.sync()).toMatchObject({ outcome: 'period-spent' })
      expect(quota.billed()).toBeGreaterThan(QUOTA * 0.8)
      for (let period = 0; period < 6 && quota.last().report!.outcome !== 'done'; period++) {
        quota.wait(2 * HOUR)
        await quota.sync()
        expect(overspent(quota)).toBe(0)
        quota.wait(30 * DAY)
        await quota.sync()
      }
      expect(quota.missing()).toEqual([])
    },
  )

  it.each([0, 5])('without a period, %i requests late, costs a few probes, and ends with the period', async value => {
    const quota = scenario({
      ...given,
      behaviours: [
        { kind: 'period-key', word: 'absent' },
        { kind: 'usage-late', value },
      ],
    })
    const report = await quota.sync()
    expect(report.outcome).toBe('period-spent')
    expect(report.requests).toBeLessThan(60)
    expect(quota.billed()).toBeGreaterThan(QUOTA * 0.8)
    expect(overspent(quota)).toBe(0)
    quota.wait(21 * DAY)
    await quota.sync()
    expect(quota.usage().billableUsedThisPeriod).toBeGreaterThan(QUOTA * 0.5)
    expect(overspent(quota)).toBe(0)
  })

  it('under a key of each day, for sessions of the month, does not give the reserve of the month to history', async () => {
    const quota = scenario({
      agents: ['a', 'b'].map(id => agent(id, 250, { historyDays: 150, perDay: 5 })),
      vendor: { includedSessions: 600 },
      behaviours: [{ kind: 'period-key', word: 'daily' }],
    })
    const history: number[] = []
    for (let day = 0; day < 3; day++) {
      await quota.sync({ unattended: true })
      history.push(quota.stored().filter(key => Number(key.slice(3)) < 250).length)
      quota.wait(DAY)
    }
    expect(history[2]! - history[1]!).toBeLessThan(30)
  })

  it('once for an unknown period stops no export', async () => {
    const stale = { kind: 'usage-of-another-period', word: 'unknown', times: 1 } as const
    const quota = scenario({ ...given, vendor: {}, maxPage: 20, behaviours: [{ ...stale, value: 50_000 }] })
    expect(await quota.sync()).toMatchObject({ outcome: 'done', windowsLeft: 0 })
  })

  it.each([MINUTE, 3 * HOUR])(
    'for last month by the last page of a run lets the next one spend no more (%i ms later)',
    async laterMs => {
      const quota = scenario({ ...given, vendor: { includedSessions: 300 }, maxPage: 20 })
      await quota.sync({ maxRequests: 13 })
      quota.vendor({ kind: 'usage-of-another-period', value: 5 })
      await quota.sync({ maxRequests: 1 })
      quota.vendor()
      quota.wait(laterMs)
      expect(await quota.sync()).toMatchObject({ outcome: 'period-spent' })
      expect(overspent(quota)).toBe(0)
    },
  )

  it.each([
    ['period--1', 0.5],
    [undefined, 0.5],
  ])('as used up again and again costs at most nine probes an hour (period %s)', async (word, share) => {
    const exhausted = word
      ? ({ kind: 'usage-of-another-period', word, value: 50_000, share } as const)
      : ({ kind: 'usage-exhausted', share } as const)
    const quota = scenario({ ...given, vendor: {}, maxPage: 20, behaviours: [exhausted] })
    for (let round = 0; round < 12; round++) {
      await quota.sync()
      quota.wait(10 * MINUTE)
    }
    const probes = quota.requests().filter(({ isProbe }) => isProbe)
    expect(probes.length).toBeLessThanOrEqual(9 * 3)
    expect(new Set(probes.map(({ query }) => query.fromMs)).size).toBe(probes.length)
  })

  it('too low by the last answer is known to be more by a later run', async () => {
    const quota = scenario({ ...given, vendor: { includedSessions: 400 }, maxPage: 10 })
    quota.vendor({ kind: 'usage-of-another-period', word: 'period-0', value: 0, fromMs: 5 * 200 })
    await quota.sync({ maxRequests: 8 })
    quota.vendor()
    quota.wait(2 * HOUR)
    await quota.sync()
    expect(overspent(quota)).toBe(0)
  })

  it('by no answer is counted from the records, those of earlier days included', async () => {
    const quota = scenario({ agents: [agent('a', 60, { sessions: 3 })], behaviours: [{ kind: 'usage-absent' }] })
    const { sessions } = await quota.sync()
    expect(sessions).toBe(quota.billed())
    quota.wait(3 * DAY)
    const limited = await quota.sync({ mode: 'full', maxSessions: 100 })
    expect(limited.sessions).toBeLessThanOrEqual(100)
  })
})
