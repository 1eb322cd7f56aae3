// Deliberate repeated exports: ranges that hid conversations, named and recent conversations, and the weekly sample.
import { describe, expect, it } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import { agent, type Scenario, scenario } from '../vendor-model/scenario.ts'

const returnedBy = ({ world }: Scenario, kind: string): number =>
  [...world.warehouse.windows.values()].reduce((sum, one) => sum + (one.window.kind === kind ? one.returned : 0), 0)

describe('a conversation in which a person writes only later', () => {
  const silent = [agent('a', 200, { historyDays: 2, silent: 0.1, answeredAfterMs: 20 * HOUR })]

  it('is found by a re-read of its range within the horizon and the budget, once', async () => {
    const hidden = scenario({ agents: silent, maxPage: 5, settings: { rereadShare: 0.02 } })
    await hidden.sync()
    const before = hidden.stored().length
    hidden.wait(30 * HOUR)
    expect(await hidden.sync()).toMatchObject({ outcome: 'done', failures: [] })
    expect(hidden.missing()).toEqual([])
    expect(hidden.stored().length).toBeGreaterThan(before)
    expect(returnedBy(hidden, 'reread')).toBeLessThan(0.02 * 50_000)
    expect(await hidden.sync()).toMatchObject({ requests: 0 })
  })

  it('is in the next head window if ts is the last activity, without a re-read', async () => {
    const hidden = scenario({ agents: silent, vendor: { ts: 'activity' }, settings: { rereadShare: 0.2 } })
    await hidden.sync()
    hidden.wait(30 * HOUR)
    await hidden.sync()
    expect(returnedBy(hidden, 'reread')).toBe(0)
    expect(hidden.missing()).toEqual([])
  })
})

describe('a refresh', () => {
  it('exports again the conversations that were active within the given age and whose copy is old, besides new ones', async () => {
    const again = scenario({ agents: ['a', 'b'].map(id => agent(id, 75, { historyDays: 20, perDay: 10 })) })
    await again.sync()
    const first = again.stored().length
    again.wait(2 * DAY)
    const asked = { refresh: { ageMs: 5 * DAY } }
    const sinceMs = again.world.clock.now() - 5 * DAY
    const recent = again.world.vendor.options.conversations.filter(({ sessionsMs, createdMs }) => {
      return createdMs < sinceMs + 3 * DAY - 5 * MINUTE && Math.max(...sessionsMs) >= sinceMs
    })
    expect(await again.sync(asked)).toMatchObject({ outcome: 'done' })
    expect(recent.length).toBeGreaterThan(10)
    expect(returnedBy(again, 'refresh')).toBe(recent.length)
    expect(again.stored().length).toBeGreaterThan(first + 30)
    // A stored copy that is younger than the quiet time is not exported again.
    expect(await again.sync(asked)).toMatchObject({ conversations: 0 })
  })

  it('exports named conversations again, and one that is gone never', async () => {
    const again = scenario({ agents: [agent('a', 60)] })
    await again.sync()
    again.world.vendor.remove('a', 'a4', again.world.clock.now())
    const named = { mode: 'selected', ids: [['a', ['a1', 'a2', 'a3', 'a4']]] } as const
    expect(await again.sync(named)).toMatchObject({ outcome: 'done', conversations: 3 })
    await expect(again.sync({ mode: 'selected', ids: [['nobody', ['x']]] })).rejects.toMatchObject({
      code: 'AGENT_UNKNOWN',
    })
    again.wait(3 * DAY)
    await again.sync({ refresh: { ageMs: 100 * DAY } })
    expect(again.requests(3).flatMap(({ query }) => query.ids ?? [])).not.toContain('a4')
  })
})

it('a sample is exported once a week, within its share', async () => {
  const sampled = scenario({
    agents: ['a', 'b'].map(id => agent(id, 100, { historyDays: 10 })),
    vendor: { includedSessions: 10_000 },
    settings: { sampleShare: 0.02 },
  })
  await sampled.sync()
  sampled.wait(3 * DAY)
  await sampled.sync()
  const count = Math.floor((10_000 * 0.02 * 7) / 31)
  expect(returnedBy(sampled, 'sample')).toBe(count)
  sampled.wait(2 * DAY)
  await sampled.sync()
  expect(returnedBy(sampled, 'sample')).toBe(count)
  sampled.wait(7 * DAY)
  await sampled.sync()
  expect(returnedBy(sampled, 'sample')).toBe(2 * count)
})

it('a quiet workspace that is polled for 30 days costs one request per agent and poll, and bills no session twice', async () => {
  const quiet = scenario({ agents: ['a', 'b'].map(id => agent(id, 10, { perDay: 0.5 })), days: 31 })
  await quiet.sync()
  const atFirst = quiet.requests().length
  for (let poll = 0; poll < 30 * 2; poll++) {
    quiet.wait(12 * HOUR)
    expect(await quiet.sync()).toMatchObject({ outcome: 'done', requests: 2 })
  }
  expect(quiet.requests().length - atFirst).toBe(2 * 30 * 2)
  expect(quiet.requests().filter(({ isProbe }) => isProbe)).toHaveLength(1)
  expect(quiet.billed()).toBe(quiet.stored().length)
  expect(quiet.missing()).toEqual([])
})
