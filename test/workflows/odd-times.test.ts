// Times that make paging difficult: many conversations with one `ts`, other units, missing or wrong values, late arrivals, agents
// that disappear, and wrong clocks. No conversation may be missed or exported twice.
import { describe, expect, it } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import { isDeep } from '../tier.ts'
import { expectedTables } from './simulated/expected-rows.ts'
import { type SimulatedApp, START_MS } from './simulated/open-simulated-app.ts'
import { simulatedApp } from './simulated/simulated-app.ts'
import { readThrough, type TrueRecord, truthOf } from './simulated/truth.ts'
import { asLines, warehouseTables } from './simulated/warehouse-tables.ts'

const SETTLE_MS = 2 * MINUTE

/**
 * Conversations after `afterMs` that are exportable and settled. Their time is their place in the vendor's order (`firstMessageTS`),
 * because the `ts` of a record may be odd.
 */
function settled(simulated: SimulatedApp, afterMs = Number.NEGATIVE_INFINITY): TrueRecord[] {
  const throughMs = readThrough(simulated.sandbox.clock.now(), SETTLE_MS)
  return truthOf(simulated.sandbox, { throughMs: Number.POSITIVE_INFINITY }).filter(({ record }) => {
    const beganMs = Number(record.firstMessageTS)
    return beganMs > afterMs && beganMs <= throughMs
  })
}

/** Syncs and returns the expected records: each conversation is read once and stored in its state at that time. */
async function syncAndLearn(simulated: SimulatedApp, known: Map<string, TrueRecord>): Promise<TrueRecord[]> {
  const beganMs = simulated.sandbox.clock.now()
  const report = await simulated.sync()
  expect(report).toMatchObject({ outcome: 'done', failures: [] })
  const before = lastThrough.get(simulated)
  const added = settled(simulated, before).filter(({ record }) => Number(record.firstMessageTS) <= beganMs)
  lastThrough.set(simulated, readThrough(beganMs, SETTLE_MS))
  for (const one of added) known.set(String(one.record.ID), one)
  return [...known.values()]
}

const lastThrough = new WeakMap<SimulatedApp, number>()

const asTables = async (simulated: SimulatedApp): Promise<Record<string, string[]>> =>
  asLines(await warehouseTables(simulated.rows))

const heldIds = async (simulated: SimulatedApp): Promise<string[]> =>
  (await simulated.rows<{ id: string }>('SELECT conversation_id AS id FROM conversations ORDER BY id')).map(
    row => row.id,
  )

const idsOf = (records: readonly TrueRecord[]): string[] => records.map(({ record }) => String(record.ID)).sort()

const returned = async (simulated: SimulatedApp): Promise<number> =>
  (await simulated.exported()).reduce((sum, request) => sum + request.returned, 0)

/** Sizes of the groups of records that share agent and `ts`, largest first. */
function burstsIn(records: readonly TrueRecord[]): number[] {
  const sizes = new Map<string, number>()
  for (const { agentId, record } of records) {
    const key = `${agentId} ${String(record.firstMessageTS)}`
    sizes.set(key, (sizes.get(key) ?? 0) + 1)
  }
  return [...sizes.values()].sort((a, b) => b - a)
}

describe('more conversations of one ts than a page holds', () => {
  // The vendor returns at most a hundred conversations per page.
  const large = { burstSize: 150, maxPage: 100, burstEvery: 160, conversations: 240, arrivalsPerDay: 100 }
  const small = { burstSize: 60, maxPage: 8, burstEvery: 65, conversations: 130, arrivalsPerDay: 66 }
  it.each(isDeep ? [large, small] : [small])(
    'are all exported once, in history and among arrivals: $burstSize in pages of $maxPage',
    async ({ maxPage, ...bursts }) => {
      const simulated = await simulatedApp({ sandbox: { agents: 1, ...bursts }, settings: { maxPage } })
      const known = new Map<string, TrueRecord>()
      const history = await syncAndLearn(simulated, known)
      expect(await asTables(simulated)).toEqual(asLines(expectedTables(history)))
      simulated.advance(2 * DAY)
      const all = await syncAndLearn(simulated, known)
      expect(await heldIds(simulated)).toEqual(idsOf(all))
      expect(burstsIn(all)[0]).toBeGreaterThan(bursts.burstSize * 0.85)
      expect(await returned(simulated)).toBe(all.length)
      expect((await simulated.exported()).length).toBeLessThanOrEqual((all.length * 1.15) / maxPage + 4)
    },
  )

  // Deep tier only: npm test covers this case in test/workflows/vendor-faults/vendor-faults-limits.test.ts.
  it.runIf(isDeep)(
    'are all exported if cursors are refused and page sizes change, and only their second is exported again',
    async () => {
      const bursts = { burstEvery: 160, burstSize: 150 }
      const world = { agents: 1, conversations: 330, quotaSessions: 540, tsUnit: 'mixed', ...bursts } as const
      const simulated = await simulatedApp({ sandbox: world, settings: { maxPage: 100, headReserveShare: 0 } })
      simulated.sandbox.faults.set({ script: [{ every: 3, fault: 'expired-cursor' }] })
      for (let period = 0; period < 6; period++) {
        const { outcome } = await simulated.sync()
        if (outcome === 'done') break
        simulated.sandbox.conditions.set({ turnPeriod: true })
        simulated.advance(HOUR)
      }
      const truth = settled(simulated)
      expect(await heldIds(simulated)).toEqual(idsOf(truth))
      expect(asLines(await warehouseTables(simulated.rows))).toEqual(asLines(expectedTables(truth)))
      const generations = await simulated.rows<{ n: number }>(
        `SELECT sum((progress->>'$.generation')::INTEGER - 1)::INTEGER AS n FROM _windows`,
      )
      expect(generations[0]!.n).toBeGreaterThan(0)
      const again = (await returned(simulated)) - truth.length
      expect(again).toBeLessThanOrEqual(generations[0]!.n * 150)
    },
  )

  it('are exported once if windows end within their second', async () => {
    const world = { agents: 1, conversations: 100, arrivalsPerDay: 110, burstEvery: 80, burstSize: 75 }
    const simulated = await simulatedApp({ sandbox: world, settings: { maxPage: 10 } })
    const upcoming = [
      ...simulated.sandbox.world.conversations(simulated.sandbox.world.agentIds()[0]!, START_MS + 2 * DAY),
    ]
    const moments = upcoming.map(({ document }) => Number(document.firstMessageTS))
    const burst = moments.find((ms, index) => ms > START_MS + HOUR && moments[index + 50] === ms)!
    const known = new Map<string, TrueRecord>()
    for (const atMs of [-1_000, 0, DAY].map(offMs => burst + SETTLE_MS + offMs)) {
      simulated.advance(atMs - simulated.sandbox.clock.now())
      await syncAndLearn(simulated, known)
    }
    expect(await heldIds(simulated)).toEqual([...known.keys()].sort())
    expect(await returned(simulated)).toBe(known.size)
  })
})

describe('a ts', () => {
  // Deep tier only: the next test covers mixed units with refused cursors in npm test.
  it.runIf(isDeep).each(['s', 'mixed'] as const)(
    'in %s is converted to the right time, and windows resume behind it',
    async tsUnit => {
      const world = { agents: 2, conversations: 160, tsUnit, burstEvery: 80, burstSize: 45 }
      const simulated = await simulatedApp({ sandbox: world, settings: { maxPage: 20 } })
      simulated.sandbox.faults.set({ rates: { 'expired-cursor': 0.3 } })
      await simulated.sync()
      const generations = await simulated.rows<{ n: number }>(
        `SELECT max((progress->>'$.generation')::INTEGER)::INTEGER AS n FROM _windows`,
      )
      expect(generations[0]!.n).toBeGreaterThan(1)
      // A window whose cursors are refused too often at one `ts` ends; the next run continues it.
      simulated.sandbox.faults.set({})
      expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [] })
      expect(await asTables(simulated)).toEqual(asLines(expectedTables(settled(simulated))))
    },
  )

  it('that is missing or not a time hides no conversation and extends no coverage', async () => {
    const hostile = { 'ts-missing': 0.2, 'ts-nonsense': 0.2 }
    const world = { agents: 2, conversations: 120, arrivalsPerDay: 60, tsUnit: 'mixed', hostile } as const
    const simulated = await simulatedApp({ sandbox: world, settings: { maxPage: 10 } })
    simulated.sandbox.faults.set({ script: [{ every: 4, fault: 'expired-cursor' }] })
    const known = new Map<string, TrueRecord>()
    await syncAndLearn(simulated, known)
    simulated.advance(DAY)
    await syncAndLearn(simulated, known)
    expect(await heldIds(simulated)).toEqual([...known.keys()].sort())
    const [untimed] = await simulated.rows<{ n: number }>(
      'SELECT count(*)::INTEGER AS n FROM conversations WHERE ts IS NULL',
    )
    expect(untimed!.n).toBeGreaterThan(known.size * 0.2)
    const toSec = Math.floor(readThrough(simulated.sandbox.clock.now(), SETTLE_MS) / 1_000)
    const covered = await simulated.rows('SELECT from_sec::DOUBLE AS "from", to_sec::DOUBLE AS "to" FROM _covered')
    expect(covered).toEqual([
      { from: 0, to: toSec },
      { from: 0, to: toSec },
    ])
    expect(await simulated.sync()).toMatchObject({ requests: 0 })
  })
})

describe('a conversation that arrives behind the cursor while its window is paged', () => {
  it('is not billed in that window and is exported by the next full sync; a longer settle time misses none', async () => {
    const late = { lateShare: 0.5, lateMs: 40 * MINUTE }
    // Fourteen pages at seven requests per hour, so that time passes between pages.
    const sandbox = { agents: 1, conversations: 98, historyDays: 0.25, hourlyRequests: 7, ...late }
    const patient = await simulatedApp({ sandbox, settings: { maxPage: 7, settleMs: 45 * MINUTE } })
    const hasty = await simulatedApp({ sandbox, settings: { maxPage: 7 } })
    /** Ids that would be exportable at the start if the mirror were not late. */
    const atStart = ({ sandbox: { world } }: SimulatedApp, throughMs: number) =>
      truthOf(hasty.sandbox, { throughMs })
        .filter(({ agentId, record }) => {
          const index = world.find(agentId, String(record.ID), START_MS + HOUR)!
          return world.billable(index, START_MS) > 0
        })
        .map(({ record }) => String(record.ID))
    for (const simulated of [patient, hasty]) {
      expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [] })
      expect(simulated.sandbox.clock.now()).toBeGreaterThan(START_MS + HOUR)
      expect(await returned(simulated)).toBe((await heldIds(simulated)).length)
    }
    const patientIds = new Set(await heldIds(patient))
    expect(atStart(patient, readThrough(START_MS, 45 * MINUTE)).filter(id => !patientIds.has(id))).toEqual([])
    const due = atStart(hasty, readThrough(START_MS, SETTLE_MS))
    const hastyIds = new Set(await heldIds(hasty))
    expect(due.filter(id => !hastyIds.has(id)).length).toBeGreaterThan(0)
    await hasty.sync({ mode: 'full' })
    const allIds = new Set(await heldIds(hasty))
    expect(due.filter(id => !allIds.has(id))).toEqual([])
  })
})

describe('an agent that is gone', () => {
  const since = async (simulated: SimulatedApp, agentId: string) =>
    (
      await simulated.rows<{ since: number | null }>(
        `SELECT epoch_ms(_missing_since)::DOUBLE AS since FROM agents WHERE agent_id = '${agentId}'`,
      )
    )[0]!.since
  const world = { agents: 2, conversations: 150, arrivalsPerDay: 60 }

  it('from the listing and for its own export keeps its rows, and continues behind its coverage when it is back', async () => {
    const simulated = await simulatedApp({ sandbox: world, settings: { maxPage: 20 } })
    const [agentId] = simulated.sandbox.world.agentIds() as [string]
    const known = new Map<string, TrueRecord>()
    await syncAndLearn(simulated, known)
    const before = (await simulated.exported()).filter(request => request.agentId === agentId).length
    const rowsOf = () =>
      simulated.rows(`SELECT count(*)::INTEGER AS n FROM conversations WHERE agent_id = '${agentId}'`)
    const rows = await rowsOf()
    simulated.sandbox.conditions.set({ gone: [agentId] })
    for (let day = 0; day < 2; day++) {
      simulated.advance(DAY)
      expect(await simulated.sync()).toMatchObject({ outcome: 'done', agentsGone: [agentId] })
    }
    expect((await simulated.exported()).filter(request => request.agentId === agentId)).toHaveLength(before + 2)
    expect(await rowsOf()).toEqual(rows)
    // The agent counts as missing since its export was first answered with 404.
    expect(await since(simulated, agentId)).toBeCloseTo(START_MS + DAY, -4)

    simulated.sandbox.conditions.set({ gone: [] })
    simulated.advance(DAY)
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [] })
    expect(await since(simulated, agentId)).toBeNull()
    const head = await simulated.rows<{ from: number }>(`SELECT epoch_ms(from_at)::DOUBLE AS "from" FROM _windows
      WHERE agent_id = '${agentId}' AND kind = 'head'`)
    expect(head).toEqual([{ from: readThrough(START_MS, SETTLE_MS) + 1 }])
    const held = new Set(await heldIds(simulated))
    const own = settled(simulated, readThrough(START_MS, SETTLE_MS)).filter(one => one.agentId === agentId)
    expect(own.length).toBeGreaterThan(100)
    expect(idsOf(own).filter(id => !held.has(id))).toEqual([])
    expect(await returned(simulated)).toBe(held.size)
  })

  it('in the middle of a run (404) stops only its own windows, which continue when it is back', async () => {
    const simulated = await simulatedApp({ sandbox: world, settings: { maxPage: 10 } })
    const [agentId] = simulated.sandbox.world.agentIds() as [string]
    simulated.sandbox.faults.set({ script: [{ at: 8, set: { gone: [agentId] } }] })
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [], agentsGone: [agentId] })
    expect(await since(simulated, agentId)).toBeCloseTo(START_MS, -4)
    const open = await simulated.rows(`SELECT agent_id FROM _windows WHERE NOT done`)
    expect(open).toEqual([{ agent_id: agentId }])
    // The agent returns before the next listing, so every listing contains it.
    simulated.sandbox.conditions.set({ gone: [] })
    simulated.advance(HOUR)
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [], agentsGone: [] })
    expect(await since(simulated, agentId)).toBeNull()
    expect(await heldIds(simulated)).toEqual(idsOf(settled(simulated)))
    expect(await returned(simulated)).toBe(settled(simulated).length)
  })
})

describe('a clock that is wrong', () => {
  const CASES: [string, { vendorMs: number; oursMs: number }][] = [
    ["the vendor's, behind by an hour", { vendorMs: -HOUR, oursMs: 0 }],
  ]
  const MORE_CASES: typeof CASES = [
    ['ours, ahead by a day', { vendorMs: 0, oursMs: DAY }],
    ['ours, behind by a day', { vendorMs: 0, oursMs: -DAY }],
  ]
  it.each(isDeep ? [...CASES, ...MORE_CASES] : CASES)(
    'covers no time before it has passed: %s',
    async (_, { vendorMs, oursMs }) => {
      const sandbox = { agents: 2, conversations: 60, arrivalsPerDay: 2_000 }
      const simulated = await simulatedApp({ sandbox })
      await simulated.sync()
      simulated.sandbox.conditions.set({ clockOffsetMs: vendorMs })
      simulated.clock.setAhead(oursMs)
      for (let round = 0; round < 2; round++) {
        simulated.advance(10 * MINUTE)
        expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [] })
      }
      simulated.sandbox.conditions.set({ clockOffsetMs: 0 })
      simulated.clock.setAhead(0)
      simulated.advance(2 * HOUR)
      expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [] })
      const held = new Set(await heldIds(simulated))
      // Not expected: conversations in which a person wrote only later, because the first read skipped them and none is re-read.
      const { world } = simulated.sandbox
      const atOnce = settled(simulated, readThrough(START_MS, SETTLE_MS)).filter(({ agentId, record }) => {
        const index = world.find(agentId, String(record.ID), simulated.sandbox.clock.now())!
        return world.billable(index, Number(record.firstMessageTS)) > 0
      })
      expect(idsOf(atOnce).filter(id => !held.has(id))).toEqual([])
      expect(held.size).toBeGreaterThan(150)
      expect(await returned(simulated)).toBe(held.size)
    },
  )
})

describe('history that was read back to a since', () => {
  // Deep tier only: npm test covers this case in incremental.test.ts.
  it.runIf(isDeep)('continues to an earlier one and to the beginning, each conversation once', async () => {
    const simulated = await simulatedApp({
      sandbox: { agents: 2, conversations: 80, tsUnit: 'mixed' },
      settings: { maxPage: 20 },
    })
    const all = settled(simulated)
    const heldSince = async (sinceMs: number) => {
      const ids = await heldIds(simulated)
      expect(ids).toEqual(
        idsOf(all.filter(({ record }) => Number(record.firstMessageTS) >= sinceMs && record.ts !== undefined)),
      )
      expect(await returned(simulated)).toBe(ids.length)
    }
    for (const days of [10, 60]) {
      const sinceMs = START_MS - days * DAY
      expect(await simulated.sync({ sinceMs })).toMatchObject({ outcome: 'done', failures: [] })
      await heldSince(sinceMs)
    }
    // A sync with the same `since` requests nothing.
    expect(await simulated.sync({ sinceMs: START_MS - 60 * DAY })).toMatchObject({ requests: 0 })
    await simulated.sync()
    expect(await heldIds(simulated)).toEqual(idsOf(all))
    expect(await returned(simulated)).toBe(all.length)
  })
})
