import { describe, expect, it } from 'vitest'
import { createWorld } from '../../../src/sandbox/world/world.ts'
import { DAY, exportAll, exportable, firstAgent, idsOf, open, START_MS } from '../caller.ts'

const HOUR = 3_600_000
const LATE = { agents: 1, conversations: 0, arrivalsPerDay: 1_000, lateShare: 0.2, lateMs: 6 * HOUR }

describe.each(['created', 'activity'] as const)('late conversations, ts %s', ts => {
  it('appear in ranges that were read before, each once, and finally all', async () => {
    const sandbox = await open({ ...LATE, ts })
    const agentId = firstAgent(sandbox)
    sandbox.clock.advance(DAY)
    const window = { sort: 'asc', toTs: START_MS + DAY, limit: 100 }
    const early = new Set(idsOf(await exportAll(sandbox, agentId, window)))
    expect(early).toEqual(new Set(exportable(sandbox, agentId).map(({ id }) => id)))
    sandbox.clock.advance(6 * HOUR)
    const pages = await exportAll(sandbox, agentId, { sort: 'asc', limit: 100 })
    const records = pages.flatMap(page => page.data)
    expect(records.map(({ ID }) => ID).toSorted()).toEqual(
      exportable(sandbox, agentId)
        .map(({ id }) => id)
        .toSorted(),
    )
    const behind = records.filter(
      ({ ID, firstMessageTS }) => Number(firstMessageTS) <= START_MS + DAY && !early.has(ID),
    )
    const late = new Map(
      [...sandbox.world.conversations(agentId, sandbox.clock.now())].map(one => [one.id, one.lateMs]),
    )
    expect(behind.length).toBeGreaterThan(10)
    expect(behind.every(({ ID }) => late.get(ID)! > 0)).toBe(true)
  })
})

describe('a late conversation', () => {
  it('cannot be selected before it appears', async () => {
    const sandbox = await open(LATE)
    const agentId = firstAgent(sandbox)
    sandbox.clock.advance(DAY)
    const all = exportable(sandbox, agentId, sandbox.clock.now() + 6 * HOUR)
    const early = new Set(exportable(sandbox, agentId).map(({ id }) => id))
    const waiting = all.find(({ id, lateMs }) => lateMs > HOUR && !early.has(id))!
    expect(idsOf(await exportAll(sandbox, agentId, { convoIds: waiting.id }))).toEqual([])
    sandbox.clock.advance(12 * HOUR)
    expect(idsOf(await exportAll(sandbox, agentId, { convoIds: waiting.id }))).toEqual([waiting.id])
  })

  it('occurs at the configured share, within the maximum delay, and is counted once it appears', () => {
    const world = createWorld({ ...LATE, startMs: START_MS })
    const agentId = world.agentIds()[0]!
    const nowMs = START_MS + 3 * DAY
    const all = [...world.conversations(agentId, nowMs)]
    expect(world.count(agentId, nowMs)).toBe(all.length)
    const late = all.filter(({ lateMs }) => lateMs > 0)
    expect([late.length > 0.15 * all.length, late.length < 0.25 * all.length]).toEqual([true, true])
    expect(Math.max(...late.map(({ lateMs }) => lateMs))).toBeLessThanOrEqual(6 * HOUR)
  })

  it('does not occur by default', () => {
    const world = createWorld({ startMs: START_MS, conversations: 500 })
    const all = world.agentIds().flatMap(id => [...world.conversations(id, START_MS)])
    expect(all).toHaveLength(500)
    expect(all.every(({ lateMs }) => lateMs === 0)).toBe(true)
  })
})
