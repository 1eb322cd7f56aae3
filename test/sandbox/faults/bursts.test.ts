import { describe, expect, it } from 'vitest'
import { createWorld } from '../../../src/sandbox/world/world.ts'
import { DAY, exportAll, exportable, idsOf, open, START_MS } from '../caller.ts'

/** Sizes of the groups of an agent's conversations that began at the same time, largest first. */
function groups(world: ReturnType<typeof createWorld>, agentId: string, nowMs: number): number[] {
  const counts = new Map<unknown, number>()
  for (const { document } of world.conversations(agentId, nowMs)) {
    const created = document.firstMessageTS
    counts.set(created, (counts.get(created) ?? 0) + 1)
  }
  return [...counts.values()].sort((a, b) => b - a)
}

describe('bursts', () => {
  it('occur at one agent after the other, in the past and among arrivals', () => {
    const options = { agents: 2, conversations: 1_000, arrivalsPerDay: 200, burstEvery: 250, burstSize: 120 }
    const world = createWorld({ ...options, startMs: START_MS })
    const [one, other] = world.agentIds() as [string, string]
    const large = (agentId: string, nowMs: number) => groups(world, agentId, nowMs).filter(size => size > 100)
    expect([large(one, START_MS), large(other, START_MS)]).toEqual([
      [120, 120],
      [120, 120],
    ])
    expect([large(one, START_MS + 2 * DAY), large(other, START_MS + 2 * DAY)]).toEqual([
      [120, 120, 120],
      [120, 120, 120],
    ])
  })

  it('are exported with each conversation once', async () => {
    const sandbox = await open({ agents: 2, conversations: 400, burstEvery: 200, burstSize: 130 })
    for (const agentId of sandbox.world.agentIds()) {
      const ids = idsOf(await exportAll(sandbox, agentId, { sort: 'asc', limit: 100 }))
      expect(ids.toSorted()).toEqual(
        exportable(sandbox, agentId)
          .map(({ id }) => id)
          .toSorted(),
      )
    }
  })

  it('that are larger than the distance between them are refused', () => {
    expect(() => createWorld({ burstEvery: 100, burstSize: 150 })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    )
  })
})

describe('the unit of ts', () => {
  const stamps = (tsUnit: 's' | 'ms' | 'us' | 'mixed') => {
    const world = createWorld({ startMs: START_MS, conversations: 300, agents: 1, tsUnit })
    return [...world.conversations(world.agentIds()[0]!, START_MS)].map(({ document }) => ({
      ts: document.ts as number,
      createdMs: document.firstMessageTS as number,
    }))
  }

  it.each([
    ['s', (ms: number) => Math.floor(ms / 1_000)],
    ['ms', (ms: number) => ms],
    ['us', (ms: number) => ms * 1_000],
  ] as const)('is %s for all conversations', (unit, convert) => {
    const dated = stamps(unit).filter(({ ts }) => ts !== undefined)
    expect(dated.map(({ ts }) => ts)).toEqual(dated.map(({ createdMs }) => convert(createdMs)))
  })

  it('may be mixed: each conversation has its own unit, and the order of pages is unaffected', async () => {
    const share = (from: number, to: number) => stamps('mixed').filter(({ ts }) => ts >= from && ts < to).length
    expect([share(0, 1e11), share(1e11, 1e14), share(1e14, 1e17)].every(count => count > 60)).toBe(true)
    const sandbox = await open({ agents: 1, tsUnit: 'mixed' })
    const pages = await exportAll(sandbox, sandbox.world.agentIds()[0]!, { sort: 'asc', limit: 50 })
    const created = pages.flatMap(page => page.data.filter(({ ts }) => ts).map(record => Number(record.firstMessageTS)))
    expect(created).toEqual(created.toSorted((a, b) => a - b))
  })
})
