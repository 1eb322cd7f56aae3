// Answers that would hide conversations or cost sessions without end: refused cursors, other queries, refusals, wrong
// clocks; and pages that were lost after they had landed. test/vendor-model covers other misbehaviour.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import { rounds } from '../tier.ts'
import { agent, scenario } from '../vendor-model/scenario.ts'

describe('a cursor that is refused', () => {
  it.each([undefined, 0.5])(
    'starts the next generation at the last landed conversation: nothing is lost (share %s)',
    async share => {
      const refused = scenario({ agents: ['a', 'b'].map(id => agent(id, 60)), maxPage: 15 })
      refused.vendor({ kind: 'cursor-refused', ...(share && { share }) })
      expect(await refused.sync()).toMatchObject({ outcome: 'done', failures: [] })
      expect(Math.max(...[...refused.world.warehouse.windows.values()].map(one => one.generation))).toBeGreaterThan(2)
      expect(refused.missing()).toEqual([])
      // Each generation exports the last conversation again.
      expect(refused.billed()).toBeLessThan(120 + 20)
    },
  )
})

describe('pages without a conversation', () => {
  it('do not end their window', async () => {
    const empty = scenario({ agents: [agent('a', 80)], maxPage: 1 })
    empty.vendor({ kind: 'page-empty', fromMs: 600, times: 20 })
    expect(await empty.sync()).toMatchObject({ outcome: 'done', failures: [], windowsLeft: 0 })
    expect(empty.missing()).toEqual([])
  })

  it('without end leave their window to the next sync, which continues behind them', async () => {
    const empty = scenario({ agents: [agent('a', 40)], maxPage: 10 })
    empty.vendor({ kind: 'page-empty', fromMs: 600 })
    const { windowsLeft, requests } = await empty.sync()
    expect(windowsLeft).toBe(1)
    expect(requests).toBeLessThan(220)
    expect((await empty.sync()).requests).toBeLessThanOrEqual(210)
    empty.vendor()
    await empty.sync()
    expect(empty.missing()).toEqual([])
    expect(empty.billed()).toBe(empty.stored().length)
  })
})

it('an answer to another query than requested covers no range, keeps its conversations, and is asked again at growing intervals', async () => {
  const other = scenario({ agents: [agent('a', 120)] })
  other.vendor({ kind: 'another-query' })
  const report = await other.sync()
  expect(report.gaps).toMatchObject([{ code: 'API_PROTOCOL', fromSec: null, tries: 0 }])
  expect(other.requests().length).toBeLessThanOrEqual(4)
  expect(other.stored().length).toBeGreaterThan(50)
  expect(other.world.warehouse.coverage.size).toBe(0)
  for (let round = 0; round < 6; round++) {
    await other.sync({ unattended: true })
    other.wait(MINUTE)
  }
  expect(other.requests().filter(({ query }) => query.sort === 'desc').length).toBeLessThan(6)
  other.vendor()
  other.wait(DAY)
  expect(await other.sync()).toMatchObject({ outcome: 'done', failures: [] })
  expect(other.world.warehouse.coverage.size).toBe(1)
  expect(other.missing()).toEqual([])
})

describe('an agent that the vendor refuses', () => {
  it('keeps no other agent from its export, is named, and is asked again at growing intervals', async () => {
    const refused = scenario({ agents: ['a', 'b', 'c', 'd'].map(id => agent(id, 75)) })
    refused.vendor({ kind: 'refused', value: 403, agentId: 'a' })
    const report = await refused.sync()
    expect(report.failures).toMatchObject([{ code: 'API_FORBIDDEN', agentId: 'a' }])
    expect(refused.missing().every(key => key.startsWith('a/'))).toBe(true)
    for (let round = 0; round < 12; round++) {
      refused.wait(HOUR / 4)
      await refused.sync({ unattended: true })
    }
    expect(refused.requests().filter(({ status }) => status === 403).length).toBeLessThanOrEqual(4)
    refused.vendor()
    refused.wait(DAY)
    expect(await refused.sync({ unattended: true })).toMatchObject({ outcome: 'done', failures: [] })
    expect(refused.missing()).toEqual([])
  })

  it('like all others ends the run, which requests nothing more', async () => {
    const unpaid = scenario({ agents: ['a', 'b', 'c'].map(id => agent(id, 30)) })
    unpaid.vendor({ kind: 'refused', value: 403 })
    const report = await unpaid.sync()
    expect(report.outcome).toBe('failed')
    expect(report.failures).toMatchObject([{ code: 'API_FORBIDDEN', kind: 'access', agentId: null }])
    expect(
      unpaid
        .requests()
        .map(({ agentId }) => agentId)
        .sort(),
    ).toEqual(['a', 'b', 'c'])
  })
})

it('sessions that a page bills beyond its lease are a breach, and only requests in flight follow', async () => {
  const agents = ['a', 'b'].map(id => agent(id, 100, { historyDays: 2_000, longest: 90 }))
  const surprising = scenario({ agents, vendor: { includedSessions: 200 }, maxPage: 20 })
  const report = await surprising.sync()
  expect(report.outcome).toBe('period-spent')
  expect(report.breaches).toBeGreaterThanOrEqual(1)
  expect(surprising.billed()).toBeLessThanOrEqual(200 + 90)
})

describe('clocks that are apart', () => {
  const given = { agents: [agent('a', 30, { historyDays: 2, perDay: 100 })], days: 6 }

  it('by a day in the dates of one sync hide nothing, export nothing twice, and the sync says what it costs', async () => {
    const apart = scenario(given)
    for (const value of [0, DAY, 0, 0]) {
      apart.vendor(...(value ? [{ kind: 'date' as const, value }] : []))
      const { warnings = [] } = await apart.sync()
      const said = warnings.filter(text => text.includes("This machine's clock is 1 d behind the vendor's"))
      expect(said).toHaveLength(value === 0 ? 0 : 1)
      expect(apart.missing()).toEqual([])
      apart.wait(90 * MINUTE)
    }
    expect(apart.billed()).toBe(apart.stored().length)
  })

  it.each([DAY, -DAY])(
    'because ours is wrong (by %i ms) for some syncs leave no gap, and bill at most the last hours twice',
    async aheadMs => {
      const apart = scenario({ ...given, behaviours: [{ kind: 'date' }] })
      for (const byMs of [0, aheadMs, aheadMs, 0, 0]) {
        apart.world.aheadMs = byMs
        await apart.sync()
        apart.wait(100 * MINUTE)
      }
      for (let hour = 0; hour < 30; hour += 5) {
        apart.wait(5 * HOUR)
        await apart.sync()
        expect(apart.missing()).toEqual([])
      }
      expect(apart.billed()).toBeLessThanOrEqual(apart.stored().length + 15)
    },
  )
})

describe('a lost page', () => {
  it('is exported again with little overhead, for random pages and page sizes', async () => {
    const numRuns = rounds('LOST_RUNS', { usual: 10, deep: 500 })
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          seed: fc.integer({ min: 1, max: 1_000 }),
          ts: fc.constantFrom('created' as const, 'activity' as const),
          sizes: fc.array(fc.integer({ min: 3, max: 60 }), { minLength: 1, maxLength: 4 }),
          maxRequests: fc.integer({ min: 2, max: 9 }),
          isFinished: fc.boolean(),
          kept: fc.array(fc.boolean(), { minLength: 5, maxLength: 40 }),
        }),
        async ({ seed, ts, sizes, maxRequests, isFinished, kept }) => {
          const settings = { maxPage: 0 }
          const lost = scenario({ seed, agents: ['a', 'b'].map(id => agent(id, 80)), vendor: { ts }, settings })
          for (const size of sizes) {
            lost.world.history.settings!.maxPage = size
            await lost.sync({ maxRequests })
          }
          if (isFinished) await lost.sync()
          const before = lost.billed()
          const windows = lost.world.warehouse.windows.size
          const isLost = (index: number) => !kept[index % kept.length]
          let holes = 0
          lost.losePages(index => {
            if (isLost(index) && (index === 0 || !isLost(index - 1))) holes++
            return isLost(index)
          })
          const isLeft = (page: { body: Buffer }) => (JSON.parse(page.body.toString()).data ?? []).length as number
          const left = [...lost.world.store.pages.values()].reduce((sum, page) => sum + isLeft(page), 0)
          await lost.sync()
          expect(lost.missing()).toEqual([])
          const again = lost.billed() - before
          expect(again).toBeLessThanOrEqual(160 - left + (windows + holes + 2) * Math.max(...sizes))
          lost.wait(MINUTE)
          await lost.sync()
          expect(lost.billed() - before).toBe(again)
        },
      ),
      { numRuns, seed: 20261120 },
    )
  })
})
