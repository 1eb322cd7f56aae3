import { describe, expect, it } from 'vitest'
import { DAY, exportAll, exportable, firstAgent, idsOf, open, START_MS } from './caller.ts'

describe('an export whose ts is the last activity', () => {
  it.each(['asc', 'desc'] as const)('returns each exportable conversation once, %s', async sort => {
    const sandbox = await open({ ts: 'activity', conversations: 200, agents: 1, arrivalsPerDay: 20 })
    sandbox.clock.advance(3 * DAY)
    const pages = await exportAll(sandbox, firstAgent(sandbox), { sort, limit: 33 })
    expect(idsOf(pages).toSorted()).toEqual(
      exportable(sandbox, firstAgent(sandbox))
        .map(({ id }) => id)
        .toSorted(),
    )
    const stamps = pages.flatMap(page => page.data.map(({ ts }) => ts ?? 0))
    expect(stamps).toEqual(stamps.toSorted((a, b) => (sort === 'asc' ? a - b : b - a)))
    for (const { ts, lastMessageTS } of pages.flatMap(page => page.data))
      expect(ts ?? lastMessageTS).toBe(lastMessageTS)
  })

  it('has a conversation in the head after it was active again', async () => {
    const sandbox = await open({ ts: 'activity', conversations: 800, agents: 1 })
    const agentId = firstAgent(sandbox)
    const before = new Map(exportable(sandbox, agentId).map(({ id, document }) => [id, document]))
    sandbox.clock.advance(2 * DAY)
    const head = await exportAll(sandbox, agentId, { fromTs: START_MS + 1, sort: 'asc' })
    const moved = head.flatMap(page => page.data).filter(({ ID }) => before.has(ID))
    expect(moved.length).toBeGreaterThan(0)
    for (const record of moved) {
      expect(record.ts).toBeGreaterThan(Number(before.get(record.ID)!.ts))
      expect(Number(record.lastModified)).toBeGreaterThanOrEqual(Number(record.ts))
    }
  })

  it('leaves a conversation in its place with ts created', async () => {
    const sandbox = await open({ conversations: 800, agents: 1 })
    sandbox.clock.advance(2 * DAY)
    expect(idsOf(await exportAll(sandbox, firstAgent(sandbox), { fromTs: START_MS + 1 }))).toEqual([])
  })
})

describe.each(['created', 'activity'] as const)('conversations that arrive while paging, ts %s', ts => {
  it.each(['asc', 'desc'] as const)('displace no other conversation, %s', async sort => {
    const sandbox = await open({ ts, conversations: 300, agents: 1, arrivalsPerDay: 2_000 })
    const agentId = firstAgent(sandbox)
    const window = { sort, toTs: START_MS, limit: 40 }
    const pages = await exportAll(sandbox, agentId, window, () => sandbox.clock.advance(600_000))
    // A conversation that became active again has moved from the closed window to the head; no other may be missing.
    const head = await exportAll(sandbox, agentId, { fromTs: START_MS + 1, sort: 'asc', limit: 100 })
    const ids = idsOf(pages)
    expect(new Set(ids).size).toBe(ids.length)
    const all = new Set([...ids, ...idsOf(head)])
    expect(exportable(sandbox, agentId).filter(({ id }) => !all.has(id))).toEqual([])
    expect(head.flatMap(page => page.data).length).toBeGreaterThan(50)
  })

  it('appear at the end of an open window', async () => {
    const sandbox = await open({ ts, conversations: 100, agents: 1, arrivalsPerDay: 1_000 })
    const agentId = firstAgent(sandbox)
    const pages = await exportAll(sandbox, agentId, { sort: 'asc', limit: 50 }, page => {
      if (page === 1) sandbox.clock.advance(DAY / 4)
    })
    const ids = new Set(idsOf(pages))
    expect(exportable(sandbox, agentId).filter(({ id }) => !ids.has(id))).toEqual([])
    expect(ids.size).toBeGreaterThan(200)
  })
})

describe('a sandbox whose clock is far ahead', () => {
  it('has all arrivals of that time, about as many per day as configured', async () => {
    const sandbox = await open({ conversations: 0, agents: 1, arrivalsPerDay: 50 })
    sandbox.clock.advance(100 * DAY)
    expect(sandbox.world.count(firstAgent(sandbox), sandbox.clock.now())).toBeGreaterThan(4_980)
    expect(sandbox.world.count(firstAgent(sandbox), START_MS + DAY)).toBeLessThan(60)
  })
})
