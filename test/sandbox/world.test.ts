import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { createWorld } from '../../src/sandbox/world/world.ts'
import { DAY, START_MS } from './caller.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

describe('a world', () => {
  it('has the configured number of conversations, all begun in the days before the start', () => {
    const world = createWorld({ startMs: START_MS, conversations: 5_000, historyDays: 30 })
    const counts = (nowMs: number) => world.agentIds().map(id => world.count(id, nowMs))
    expect(counts(START_MS).reduce((sum, count) => sum + count, 0)).toBe(5_000)
    expect(counts(START_MS - 30 * DAY - 1)).toEqual([0, 0, 0])
    expect(counts(START_MS)[0]).toBeGreaterThan(counts(START_MS)[2]!)
  })

  it('has few conversations without a person, few without ts, and most with one session', () => {
    const world = createWorld({ startMs: START_MS, conversations: 2_000, agents: 1 })
    const all = [...world.conversations(world.agentIds()[0]!, START_MS)].map(({ document, billableSessions }) => ({
      dated: document.ts !== undefined,
      billableSessions,
    }))
    const share = (holds: (conversation: (typeof all)[number]) => boolean) => all.filter(holds).length / all.length
    const silent = share(({ billableSessions }) => billableSessions === 0)
    const undated = share(({ dated }) => !dated)
    expect([silent > 0.04, silent < 0.06]).toEqual([true, true])
    expect([undated > 0.001, undated < 0.004]).toEqual([true, true])
    expect(share(({ billableSessions }) => billableSessions === 1)).toBeGreaterThan(0.7)
    expect(share(({ billableSessions }) => billableSessions > 1)).toBeGreaterThan(0.1)
  })

  it.each(['created', 'activity'] as const)(
    'with a million conversations is created at once and takes little memory, ts %s',
    ts => {
      const before = process.memoryUsage()
      const begun = process.cpuUsage()
      const world = createWorld({ startMs: START_MS, conversations: 1_000_000, ts })
      const walk = { sort: 'desc' as const, fromMs: 0, toMs: START_MS, after: undefined }
      expect(world.walk(world.agentIds()[0]!, walk, START_MS).next().done).toBe(false)
      // Processor time, because it does not depend on other load; usually 0.2 to 1 s.
      expect(process.cpuUsage(begun).user).toBeLessThan(10e6)
      collectGarbage()
      const after = process.memoryUsage()
      const bytes = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers
      expect(bytes).toBeLessThan(150e6)
    },
  )

  it('has nothing for an unknown agent', () => {
    const world = createWorld({ startMs: START_MS, conversations: 10 })
    expect(world.agent('agent_unknown')).toBeUndefined()
    expect(world.count('agent_unknown', START_MS)).toBe(0)
    expect([...world.conversations('agent_unknown', START_MS)]).toEqual([])
  })

  it.each([{ agents: 0 }, { conversations: -1 }, { speed: Number.NaN }, { ts: 'edited' as 'created' }, { token: '' }])(
    'is refused with the name of the invalid option: %j',
    options => {
      const [name] = Object.keys(options)
      expect(() => createWorld(options)).toThrow(
        expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(name!) }),
      )
    },
  )
})
