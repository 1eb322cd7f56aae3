// Small histories that broke a promise once: each is a vendor that is legal, careless or has been seen, and what a user would see.
import { describe, expect, it } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import type { Behaviour } from './behaviours.ts'
import { type AgentPlan, type History, runHistory, type Step } from './history.ts'
import { violationsOf } from './invariants.ts'

const agent = (id: string, history: number, more: Partial<AgentPlan> = {}): AgentPlan => ({
  id,
  history,
  historyDays: 30,
  perDay: 0,
  ...more,
})

/** Syncs, so far apart. */
const syncs = (count: number, apartMs = 6 * HOUR): Step[] =>
  Array.from({ length: count }, () => [{ sync: {} }, { waitMs: apartMs }]).flat()

const history = (agents: AgentPlan[], behaviours: Behaviour[], more: Partial<History> = {}): History => ({
  seed: 1,
  maxPage: 20,
  agents,
  behaviours,
  steps: syncs(4),
  ...more,
})

const violated = async (given: History) =>
  violationsOf(await runHistory(given)).map(({ invariant, text }) => `${invariant}: ${text}`)

const few = { includedSessions: 300 }

describe('progress', () => {
  it('a last page that is repeated with fresh cursors is read twice, not a thousand times', async () => {
    expect(await violated(history([agent('a', 60)], [{ kind: 'last-page-repeats', agentId: 'a' }]))).toEqual([])
  })

  it('a vendor that ignores its cursors is asked by time, and everything arrives', async () => {
    expect(await violated(history([agent('a', 60)], [{ kind: 'cursor-ignored', agentId: 'a' }]))).toEqual([])
  })

  it('a vendor that ignores the range is not billed for its whole history at every poll', async () => {
    const given = history([agent('a', 300)], [{ kind: 'range-ignored', agentId: 'a' }], { steps: syncs(8, HOUR) })
    const world = await runHistory(given)
    const sessions = world.vendor.bills.reduce((sum, bill) => sum + bill.sessions, 0)
    // Twice four pages: the range behind a full last page, and that of the first poll. Then single conversations at growing intervals.
    expect(sessions).toBeLessThan(300 + 2 * 4 * 20 + 100)
  })

  it('a vendor that ignores the order loses no conversation because pages grow', async () => {
    const ignored: Behaviour = { kind: 'sort-ignored', agentId: 'b' }
    const agents = [agent('a', 3, { historyDays: 5 }), agent('b', 3, { historyDays: 5, perDay: 10 })]
    const given = history(agents, [ignored], { maxPage: 100, vendor: { includedSessions: 120 }, steps: syncs(2, DAY) })
    expect(await violated(given)).toEqual([])
  })

  it('a page of which most was skipped, and that says it is the last one, hides nothing', async () => {
    const saysLast: Behaviour = { kind: 'says-last', agentId: 'a', untilMs: DAY }
    const given = history([agent('a', 18, { silent: 0.5 })], [saysLast], { seed: 406, maxPage: 10, steps: syncs(1) })
    expect(await violated(given)).toEqual([])
  })

  it.each(['cursor-leads-nowhere', 'limit-clamped', 'cursor-status'] as const)(
    'a page that promised more, or was cut by the vendor, hides nothing: %s',
    async kind => {
      const given = history([agent('a', 150), agent('b', 10)], [{ kind, agentId: 'a' }], { maxPage: 50 })
      const { syncs: made, vendor } = await runHistory(given)
      expect(made[0]!.report).toMatchObject({ outcome: 'done', agentsGone: [] })
      expect(made[0]!.report!.conversations).toBeGreaterThanOrEqual(160)
      expect(vendor.bills.reduce((sum, bill) => sum + bill.sessions, 0)).toBeLessThan(160 + 40)
    },
  )

  it('conversations are not gone because the vendor selects only the first of them', async () => {
    const ids = Array.from({ length: 60 }, (_, at) => `a${at}`)
    const refresh = { sync: { refresh: { ids: [['a', ids]], ageMs: null } } } as const
    const steps: Step[] = [{ sync: {} }, { waitMs: DAY }, refresh]
    const { syncs: made, warehouse } = await runHistory(
      history([agent('a', 60)], [{ kind: 'ids-limited', agentId: 'a' }], { maxPage: 100, steps }),
    )
    expect(made[1]!.report!.conversations).toBe(60)
    expect([...warehouse.conversations.values()].filter(one => one.missingSinceMs !== null)).toEqual([])
  })

  it('conversations without a usable time are not exported by each poll', async () => {
    const given = history([agent('a', 60)], [{ kind: 'record-times', agentId: 'a' }], { steps: syncs(24, HOUR) })
    const { vendor } = await runHistory(given)
    expect(vendor.bills.reduce((sum, bill) => sum + bill.sessions, 0)).toBeLessThan(60 + 4 * 20)
  })

  it('a vendor that ignores the end of the range is not requested in ever more pieces', async () => {
    const given = history([agent('a', 200, { perDay: 20 })], [{ kind: 'range-ignored', agentId: 'a' }], {
      steps: syncs(10, DAY),
    })
    expect(violationsOf(await runHistory(given))).toEqual([])
  })

  it('a full page that says it is the last one hides nothing', async () => {
    const saysLast: Behaviour = { kind: 'says-last', agentId: 'a', times: 1 }
    expect(await violated(history([agent('a', 60)], [saysLast]))).toEqual([])
  })
})

describe('a damaged page', () => {
  it('whose body is {"data":null} is not exported again and again, and everything older arrives', async () => {
    const damaged: Behaviour = { kind: 'unreadable', word: 'data-null', agentId: 'a', records: ['a40'] }
    expect(await violated(history([agent('a', 60)], [damaged], { steps: syncs(8) }))).toEqual([])
  })

  it('that holds a record which the vendor cannot serve costs at most four pages, and everything older arrives', async () => {
    const failing: Behaviour = { kind: 'fails', word: 'billed', agentId: 'a', records: ['a40'] }
    expect(await violated(history([agent('a', 60)], [failing], { steps: syncs(8) }))).toEqual([])
  })

  it.each([
    ['unreadable', 'data-null'],
    ['fails', 'billed'],
    ['cut', undefined],
  ] as const)(
    'is requested at most as four full pages, and nothing waits for the next sync: %s %s',
    async (kind, word) => {
      for (const record of ['a0', 'a41', 'a256', 'a471', 'a480', 'a599']) {
        const damaged: Behaviour = { kind, agentId: 'a', records: [record], ...(word && { word }) }
        const world = await runHistory(history([agent('a', 600)], [damaged], { maxPage: 100, steps: [{ sync: {} }] }))
        const { report, endedMs } = world.syncs[0]!
        expect(report).toMatchObject({ outcome: 'done' })
        expect(report!.conversations, record).toBeGreaterThanOrEqual(599)
        const sessions = world.vendor.bills.reduce((sum, bill) => sum + (bill.atMs <= endedMs ? bill.sessions : 0), 0)
        expect(sessions - 599, record).toBeLessThanOrEqual(4 * 100)
      }
    },
  )

  it('that is the oldest is reached by growing steps, not from 1970 on', async () => {
    const records = Array.from({ length: 60 }, (_, index) => `a${index * 10}`)
    const damaged: Behaviour = { kind: 'unreadable', word: 'data-null', agentId: 'a', records }
    const world = await runHistory(history([agent('a', 600)], [damaged], { steps: syncs(6, DAY) }))
    const read = world.syncs.slice(1, 6).reduce((sum, { report }) => sum + report!.conversations, 0)
    expect(read).toBeGreaterThan(100)
  })

  it('that is too slow at the usual size is read at a smaller one', async () => {
    const slow: Behaviour = { kind: 'slow', value: 10, agentId: 'a' }
    expect(await violated(history([agent('a', 60)], [slow], { steps: syncs(8) }))).toEqual([])
  })
})

describe('a refusal', () => {
  it('of one agent leaves the conversations of all others', async () => {
    const refused: Behaviour = { kind: 'refused', value: 403, agentId: 'a' }
    const given = history([agent('a', 30), agent('b', 30), agent('c', 30)], [refused])
    expect(await violated(given)).toEqual([])
  })

  it.each([403, 401])('of three agents by %i concerns them alone, since others are answered', async value => {
    const ids = Array.from({ length: 12 }, (_, index) => `a${index}`)
    const refused = ['a9', 'a10', 'a11'].map((agentId): Behaviour => ({ kind: 'refused', value, agentId }))
    const given = history(
      ids.map(id => agent(id, 10, { perDay: 24 })),
      refused,
      { steps: syncs(3, 30 * HOUR) },
    )
    const world = await runHistory(given)
    for (const { report } of world.syncs.slice(0, 3))
      expect(report!.failures.map(({ agentId }) => agentId).sort()).toEqual(['a10', 'a11', 'a9'])
    expect(violationsOf(world)).toEqual([])
  })
})

describe('the quota', () => {
  it('is not overspent because the last answer of a run names last month', async () => {
    const stale: Behaviour = { kind: 'usage-of-another-period', value: 0, fromMs: 29 * HOUR, times: 1 }
    const vendor = { includedSessions: 300, usedElsewhere: 230 }
    const steps = [...syncs(6), { waitMs: 5 * DAY }, ...syncs(2)]
    expect(await violated(history([agent('a', 3, { perDay: 40 })], [stale], { vendor, steps }))).toEqual([])
  })

  it('that three stale answers call exhausted is probed, not stormed', async () => {
    const stale: Behaviour = { kind: 'usage-of-another-period', value: 100, fromMs: 30 * MINUTE, times: 3 }
    const given = history([agent('a', 400, { perDay: 40 })], [stale], { vendor: few, steps: syncs(4, HOUR) })
    expect(await violated(given)).toEqual([])
  })

  it('that one stale answer calls exhausted is used again once the vendor reports it', async () => {
    const exhausted: Behaviour = { kind: 'usage-exhausted', fromMs: 5 * HOUR, times: 1 }
    expect(await violated(history([agent('a', 10, { perDay: 10 })], [exhausted], { vendor: few }))).toEqual([])
  })

  it('of which nothing is left by one of two contradicting numbers is not spent', async () => {
    const contradicts: Behaviour = { kind: 'usage-contradicts', value: 3_000 }
    expect(await violated(history([agent('a', 60)], [contradicts]))).toEqual([])
  })

  it('is not overspent, nor --max-sessions exceeded, because each answer repeats the usage of the first one', async () => {
    const frozen: Behaviour = { kind: 'usage-object-frozen' }
    const agents = [agent('a', 600)]
    expect(await violated(history(agents, [frozen], { vendor: few, headReserve: 0 }))).toEqual([])
    const limited = await runHistory(history(agents, [frozen], { steps: [{ sync: { maxSessions: 100 } }] }))
    expect(limited.syncs[0]!.report!.sessions).toBeLessThanOrEqual(100)
    expect(await violated(limited.history)).toEqual([])
  })

  it('is used for history although most agents have no conversation', async () => {
    const agents = Array.from({ length: 60 }, (_, index) => agent(`i${index}`, index < 6 ? 300 : 0))
    expect(await violated(history(agents, [], { maxPage: 100, vendor: { includedSessions: 5_000 } }))).toEqual([])
  })

  it('is used for history where the setting reserves nothing', async () => {
    const given = history([agent('a', 150, { historyDays: 5 })], [], { vendor: few, headReserve: 0 })
    expect(await violated(given)).toEqual([])
  })

  it('is not spent beyond --max-sessions because conversations have several sessions', async () => {
    const limited = { maxPage: 100, steps: [{ sync: { maxSessions: 100 } }] }
    const given = history([agent('a', 60, { sessions: 10 })], [], limited)
    expect(await violated(given)).toEqual([])
  })

  it('is not spent beyond --max-sessions because failures are billed', async () => {
    const failing: Behaviour = { kind: 'fails', word: 'billed', agentId: 'a', records: ['a5', 'a24'] }
    const limited = { maxPage: 100, steps: [{ sync: { maxSessions: 100 }, watchMs: 15 * MINUTE }] }
    expect(await violated(history([agent('a', 30)], [failing], limited))).toEqual([])
  })

  it('is not spent on history again that a limited run has left, because its pages hide conversations', async () => {
    const given = history([agent('a', 200, { historyDays: 90, silent: 0.5 })], [], {
      seed: 279,
      maxPage: 100,
      vendor: { includedSessions: 1_500 },
      steps: [{ sync: { maxSessions: 20, wait: false } }, { sync: {} }],
    })
    expect(await violated(given)).toEqual([])
  })

  it('is spent on hidden conversations within their budget, although pages without any conversation seem to bill nothing', async () => {
    const agents = [agent('a', 300, { historyDays: 1, silent: 0.95 }), agent('b', 3, { historyDays: 1 })]
    const given = history(agents, [], { seed: 481, maxPage: 50, vendor: few, headReserve: 0, steps: syncs(2, DAY) })
    expect(await violated(given)).toEqual([])
  })

  it('is not spent on the whole history again because one page held only conversations in which nobody has written', async () => {
    const agents = [agent('a', 120, { historyDays: 90, silent: 0.5 }), agent('b', 0)]
    const given = history(agents, [], { vendor: { includedSessions: 700 }, seed: 1_197, maxPage: 100, steps: [] })
    expect(await violated(given)).toEqual([])
  })
})

describe('an agent', () => {
  it.each(['constructor', '__proto__', 'toString'])('with the id %s is exported', async id => {
    expect(await violated(history([agent(id, 10)], []))).toEqual([])
  })

  it('whose skipped conversations never end leaves requests to the others', async () => {
    const skips: Behaviour = { kind: 'skips-without-end', agentId: 'a' }
    const given = history([agent('a', 10), agent('b', 10, { perDay: 40 })], [skips], { steps: syncs(4, HOUR) })
    expect(await violated(given)).toEqual([])
  })

  it('whose skipped conversations never ended is read completely once they end', async () => {
    const skips: Behaviour = { kind: 'skips-without-end', agentId: 'a', fromMs: MINUTE, untilMs: 2 * DAY }
    const steps = [{ waitMs: HOUR }, ...syncs(1, MINUTE), ...syncs(1, 12 * HOUR), ...syncs(1)]
    const given = history([agent('a', 3, { historyDays: 90, perDay: 2 })], [skips], { seed: 296, maxPage: 100, steps })
    expect(await violated(given)).toEqual([])
  })

  it('that a list lacks is still polled', async () => {
    const short: Behaviour = { kind: 'agents-short', value: 1, fromMs: HOUR, untilMs: DAY }
    expect(await violated(history([agent('a', 10), agent('b', 10, { perDay: 40 })], [short]))).toEqual([])
  })

  it('whose list is empty once is still polled', async () => {
    const empty: Behaviour = { kind: 'agents-short', value: 0, fromMs: HOUR, untilMs: DAY }
    expect(await violated(history([agent('a', 10, { perDay: 40 })], [empty]))).toEqual([])
  })
})

describe('time', () => {
  it.each([undefined, 400 * DAY])(
    'that records lack, or have of the future (%s), does not export the history at every poll',
    async value => {
      const undated: Behaviour = { kind: 'record-times', agentId: 'a', ...(value !== undefined && { value }) }
      const world = await runHistory(history([agent('a', 60)], [undated], { steps: syncs(8, HOUR) }))
      const sessions = world.vendor.bills.reduce((sum, bill) => sum + bill.sessions, 0)
      expect(sessions).toBeLessThanOrEqual(60 + 4 * 20)
    },
  )

  it('covers nothing of the future when answers are dated a day ahead', async () => {
    const ahead: Behaviour = { kind: 'date', value: DAY, fromMs: HOUR, untilMs: 8 * HOUR }
    expect(await violated(history([agent('a', 10, { perDay: 40 })], [ahead]))).toEqual([])
  })
})
