// Which conversations a sync exports: new ones, a time range, one agent, chosen ids, those of one time or of a late mirror.
import { describe, expect, it } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import { START_MS } from '../vendor-model/history.ts'
import { agent, type Scenario, scenario } from '../vendor-model/scenario.ts'

/** Returns the number of conversations in all answers, repetitions included. */
const received = (given: Scenario): number =>
  given.requests().reduce((sum, one) => sum + (one.received?.length ?? 0), 0)
const createdMs = ({ world }: Scenario, key: string): number =>
  world.vendor.options.conversations.find(({ agentId, id }) => `${agentId}/${id}` === key)!.createdMs

describe('a second sync', () => {
  it('requests nothing if nothing can be new, everything if it is a full one, and later only new conversations', async () => {
    const second = scenario({ agents: ['a', 'b'].map(id => agent(id, 60, { perDay: 50 })) })
    const first = await second.sync()
    expect(await second.sync()).toMatchObject({ outcome: 'done', requests: 0, pages: 0 })
    const { conversations, sessions } = first
    expect(await second.sync({ mode: 'full' })).toMatchObject({ outcome: 'done', conversations, sessions })
    const before = second.stored().length
    second.wait(DAY)
    const report = await second.sync()
    expect(second.missing()).toEqual([])
    expect(second.stored().length - before).toBeGreaterThan(50)
    expect(report.conversations).toBe(second.stored().length - before)
  })

  it('after a full one that was stopped in a new workspace exports only what has not landed', async () => {
    const second = scenario({ agents: ['a', 'b', 'c'].map(id => agent(id, 60)), maxPage: 20 })
    await second.sync({ mode: 'full', maxRequests: 6 })
    expect(second.missing()).not.toEqual([])
    await second.sync()
    expect(second.missing()).toEqual([])
    // The second at which the full export stopped is exported again.
    expect(received(second) - second.stored().length).toBeLessThanOrEqual(3)
  })
})

describe('a sync of a time range', () => {
  it('exports only that range, and later syncs export one agent and then the rest, nothing twice', async () => {
    const range = scenario({ agents: ['a', 'b'].map(id => agent(id, 75, { historyDays: 60 })) })
    await expect(range.sync({ agents: ['nobody'] })).rejects.toMatchObject({ code: 'AGENT_UNKNOWN' })
    const [sinceMs, untilMs] = [START_MS - 40 * DAY, START_MS - 20 * DAY]
    const isBetween = (key: string) => createdMs(range, key) >= sinceMs && createdMs(range, key) < untilMs
    await range.sync({ sinceMs, untilMs })
    expect(range.stored().every(isBetween)).toBe(true)
    expect(range.missing().some(isBetween)).toBe(false)
    await range.sync({ agents: ['a'] })
    expect(range.missing().every(key => key.startsWith('b/') && !isBetween(key))).toBe(true)
    await range.sync()
    expect(range.missing()).toEqual([])
    expect(received(range)).toBe(range.stored().length)
  })
})

describe('a sync of selected ids', () => {
  it('exports them without extending coverage, so that the next sync exports the rest', async () => {
    const chosen = scenario({ agents: [agent('a', 80), agent('b', 40)], maxPage: 10 })
    const ids = Array.from({ length: 25 }, (_, index) => `a${index * 3}`)
    const report = await chosen.sync({ mode: 'selected', ids: [['a', [...ids, 'gone-1', 'gone-2']]] })
    expect(report).toMatchObject({ outcome: 'done', conversations: ids.length })
    expect(chosen.stored()).toEqual(ids.map(id => `a/${id}`).sort())
    await chosen.sync()
    expect(chosen.missing()).toEqual([])
  })

  it('marks ids that are gone as missing, and those in which nobody has written as not exportable; an export revokes it', async () => {
    const chosen = scenario({ agents: [agent('a', 60)] })
    const { options } = chosen.world.vendor
    await chosen.sync()
    options.conversations.find(({ id }) => id === 'a3')!.goneMs = 0
    const silent = options.conversations.find(({ id }) => id === 'a4')!
    silent.humanMs = Number.POSITIVE_INFINITY
    chosen.wait(MINUTE)
    const ask = () => chosen.sync({ mode: 'selected', ids: [['a', ['a3', 'a4', 'a5']]] })
    await ask()
    const marks = () =>
      [...chosen.world.warehouse.conversations.values()].flatMap(({ id, missingSinceMs, notExportableSinceMs }) =>
        missingSinceMs !== null ? `${id} missing` : notExportableSinceMs !== null ? `${id} not exportable` : [],
      )
    expect(marks().sort()).toEqual(['a3 missing', 'a4 not exportable'])
    silent.humanMs = 0
    chosen.wait(MINUTE)
    await ask()
    expect(marks()).toEqual(['a3 missing'])
  })

  it.each([404, 400])(
    'exports the known ones if the vendor refuses requests with unknown ids by %i, and keeps the agent',
    async value => {
      const chosen = scenario({ agents: [agent('a', 80)], behaviours: [{ kind: 'unknown-ids-refused', value }] })
      await chosen.sync()
      const ids = Array.from({ length: 40 }, (_, index) => `a${index}`)
      ids.splice(7, 0, 'gone-1')
      ids.splice(23, 0, 'gone-2')
      const before = chosen.requests().length
      const report = await chosen.sync({ mode: 'selected', ids: [['a', ids]] })
      expect(report).toMatchObject({ outcome: 'done', failures: [], agentsGone: [], conversations: 40 })
      expect(chosen.requests().length - before).toBeLessThan(40)
      expect(await chosen.sync()).toMatchObject({ outcome: 'done', windowsLeft: 0 })
      chosen.vendor({ kind: 'refused', value: 404 })
      chosen.wait(MINUTE)
      const refused = await chosen.sync({ mode: 'selected', ids: [['a', ids.slice(0, 7)]] })
      expect(refused).toMatchObject({ agentsGone: ['a'], failures: [] })
      expect(refused.requests).toBeLessThan(16)
    },
  )
})

describe('more conversations of one ts than fit into a page', () => {
  const burst = { agents: [agent('a', 130, { burst: 60 })], maxPage: 8 }

  it.each(['ms', 's'] as const)('are all exported once (ts in %s)', async unit => {
    const many = scenario({ ...burst, vendor: { unit } })
    await many.sync()
    expect(many.missing()).toEqual([])
    expect(received(many)).toBe(many.stored().length)
    expect(many.requests().length).toBeLessThanOrEqual((130 * 1.15) / 8 + 4)
  })

  it('are a gap if every cursor is refused, after at most three repetitions, and arrive once none is', async () => {
    const many = scenario({ ...burst, behaviours: [{ kind: 'cursor-refused' }] })
    expect((await many.sync()).gaps?.[0]).toMatchObject({ tries: 0 })
    const times = new Map<string, number>()
    for (const { query, status } of many.requests()) {
      const key = JSON.stringify([query.fromMs, query.toMs])
      if (status === 200) times.set(key, (times.get(key) ?? 0) + 1)
    }
    expect(Math.max(...times.values())).toBeLessThanOrEqual(4)
    // It is requested again a few times a day at most.
    const before = many.requests().length
    for (let poll = 0; poll < 6; poll++) {
      many.wait(4 * HOUR)
      await many.sync({ unattended: true })
    }
    expect(
      many
        .requests()
        .slice(before)
        .filter(({ status, query }) => status === 200 && query.sort === 'desc').length,
    ).toBeLessThan(20)
    many.vendor()
    many.wait(2 * DAY)
    await many.sync()
    expect(many.missing()).toEqual([])
  })
})

describe('a late mirror', () => {
  it.each([0, 0.5])(
    'is detected by reading a sample of ranges again, and then all recent ranges are (share %d)',
    async rereadShare => {
      const late = scenario({
        agents: [agent('a', 60, { historyDays: 20, perDay: 600, lateMs: 40 * MINUTE })],
        settings: { rereadHorizonMs: 20 * DAY, rereadShare, sampleShare: 0.002 },
        days: 4,
      })
      for (const waitMs of [HOUR, HOUR, HOUR, 3 * DAY, 0]) {
        await late.sync()
        late.wait(waitMs)
      }
      const missed = late.missing().filter(key => createdMs(late, key) < START_MS + 2 * HOUR)
      expect(missed.length > 0).toBe(rereadShare === 0)
    },
  )
})

describe('an agent that is gone', () => {
  const given = { agents: ['a', 'b'].map(id => agent(id, 75, { perDay: 30 })), maxPage: 10 }

  it('keeps its rows, is asked again at growing intervals, and continues behind its coverage when it is back', async () => {
    const gone = scenario(given)
    await gone.sync()
    const rows = gone.stored().filter(key => key.startsWith('a/'))
    gone.vendor({ kind: 'refused', value: 404, agentId: 'a' })
    const asked: number[] = []
    for (let hour = 1; hour <= 20; hour++) {
      gone.wait(HOUR)
      await gone.sync()
      if (gone.requests(hour).some(({ agentId }) => agentId === 'a')) asked.push(hour)
    }
    expect(asked).toEqual([1, 2, 4, 8, 16])
    expect(gone.stored().filter(key => key.startsWith('a/'))).toEqual(rows)
    expect(gone.missing().every(key => key.startsWith('a/'))).toBe(true)
    gone.vendor()
    gone.wait(DAY)
    expect(await gone.sync()).toMatchObject({ outcome: 'done', failures: [], agentsGone: [] })
    expect(gone.missing()).toEqual([])
    expect(received(gone)).toBe(gone.stored().length)
  })

  it('and that no list names is asked at once by name', async () => {
    const gone = scenario(given)
    await gone.sync()
    gone.vendor({ kind: 'refused', value: 404, agentId: 'b' }, { kind: 'agents-short', value: 1 })
    gone.wait(HOUR)
    await gone.sync()
    gone.vendor({ kind: 'agents-short', value: 1 })
    gone.wait(MINUTE)
    await gone.sync()
    expect(gone.missing().some(key => key.startsWith('b/'))).toBe(true)
    await gone.sync({ agents: ['b'] })
    expect(gone.missing()).toEqual([])
  })
})

it.each([
  ['cut short', { kind: 'agents-short', value: 1 }, 2],
  ['empty', { kind: 'agents-short', value: 0 }, 3],
  ['doubled', { kind: 'agents-doubled' }, 0],
] as const)(
  'agents that a list lacks which is %s are exported as before, and the sync says how many',
  async (_, wrong, lacking) => {
    const short = scenario({ agents: ['a', 'b', 'c'].map(id => agent(id, 20, { perDay: 24 })) })
    await short.sync()
    for (const behaviours of [[wrong], [wrong], []]) {
      short.vendor(...behaviours)
      short.wait(2 * HOUR)
      const { outcome, warnings = [], agentsGone } = await short.sync()
      expect({ outcome, agentsGone }).toEqual({ outcome: 'done', agentsGone: [] })
      const isSaid = behaviours.length > 0 && lacking > 0
      expect(warnings.filter(text => text.includes(`lacks ${lacking} known agent`))).toHaveLength(isSaid ? 1 : 0)
      expect(short.missing()).toEqual([])
    }
    expect(received(short)).toBe(short.stored().length)
  },
)
