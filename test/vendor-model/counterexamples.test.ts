// Small histories that once broke a promise. Each vendor is legal, careless or was observed; each test shows what users see.
import { expect, it } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import type { Behaviour } from './behaviours.ts'
import { type AgentPlan, type History, runHistory, type Step, type World } from './history.ts'
import { violationsOf } from './invariants.ts'

const agent = (id: string, history: number, more: Partial<AgentPlan> = {}): AgentPlan => ({
  id,
  history,
  historyDays: 30,
  perDay: 0,
  ...more,
})

/** Syncs at this interval. */
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

const billedBy = ({ vendor }: World): number => vendor.bills.reduce((sum, { sessions }) => sum + sessions, 0)

/** Promises, each with the history that once broke it. */
const BROKEN: [string, History][] = [
  [
    'a last page that is repeated with fresh cursors is read twice, not a thousand times',
    history([agent('a', 60)], [{ kind: 'last-page-repeats', agentId: 'a' }]),
  ],
  [
    'a vendor that ignores its cursors is asked by time, and everything arrives',
    history([agent('a', 60)], [{ kind: 'cursor-ignored', agentId: 'a' }]),
  ],
  [
    'a vendor that ignores the order loses no conversation because pages grow',
    history(
      [agent('a', 3, { historyDays: 5 }), agent('b', 3, { historyDays: 5, perDay: 10 })],
      [{ kind: 'sort-ignored', agentId: 'b' }],
      { maxPage: 100, vendor: { includedSessions: 120 }, steps: syncs(2, DAY) },
    ),
  ],
  [
    'a page of which most was skipped, and that says it is the last one, hides nothing',
    history([agent('a', 18, { silent: 0.5 })], [{ kind: 'says-last', agentId: 'a', untilMs: DAY }], {
      ...{ seed: 406, maxPage: 10, steps: syncs(1) },
    }),
  ],
  [
    'a full page that says it is the last one hides nothing',
    history([agent('a', 60)], [{ kind: 'says-last', agentId: 'a', times: 1 }]),
  ],
  [
    'a page that is too slow at the usual size is read at a smaller one',
    history([agent('a', 60)], [{ kind: 'slow', value: 10, agentId: 'a' }], { steps: syncs(8) }),
  ],
  [
    'the quota is not overspent because the last answer of a run names last month',
    history(
      [agent('a', 3, { perDay: 40 })],
      [{ kind: 'usage-of-another-period', value: 0, fromMs: 29 * HOUR, times: 1 }],
      {
        vendor: { includedSessions: 300, usedElsewhere: 230 },
        steps: [...syncs(6), { waitMs: 5 * DAY }, ...syncs(2)],
      },
    ),
  ],
  [
    'a quota that three stale answers call exhausted is probed, not stormed',
    history(
      [agent('a', 400, { perDay: 40 })],
      [{ kind: 'usage-of-another-period', value: 100, fromMs: 30 * MINUTE, times: 3 }],
      { vendor: few, steps: syncs(4, HOUR) },
    ),
  ],
  [
    'a quota that one stale answer calls exhausted is used again once the vendor reports it',
    history([agent('a', 10, { perDay: 10 })], [{ kind: 'usage-exhausted', fromMs: 5 * HOUR, times: 1 }], {
      vendor: few,
    }),
  ],
  [
    'a quota of which nothing is left by one of two contradicting numbers is not spent',
    history([agent('a', 60)], [{ kind: 'usage-contradicts', value: 3_000 }]),
  ],
  [
    'the quota is used for history although most agents have no conversation',
    history(
      Array.from({ length: 60 }, (_, index) => agent(`i${index}`, index < 6 ? 300 : 0)),
      [],
      { maxPage: 100, vendor: { includedSessions: 5_000 } },
    ),
  ],
  [
    'no more than --max-sessions is spent because failures are billed',
    history([agent('a', 30)], [{ kind: 'fails', word: 'billed', agentId: 'a', records: ['a5', 'a24'] }], {
      ...{ maxPage: 100, steps: [{ sync: { maxSessions: 100 }, watchMs: 15 * MINUTE }] },
    }),
  ],
  [
    'history that a limited run has left is not billed again because its pages hide conversations',
    history([agent('a', 200, { historyDays: 90, silent: 0.5 })], [], {
      ...{ seed: 279, maxPage: 100, vendor: { includedSessions: 1_500 } },
      steps: [{ sync: { maxSessions: 20, wait: false } }, { sync: {} }],
    }),
  ],
  [
    'hidden conversations cost no more than their budget, although pages without any conversation seem to bill nothing',
    history([agent('a', 300, { historyDays: 1, silent: 0.95 }), agent('b', 3, { historyDays: 1 })], [], {
      ...{ seed: 481, maxPage: 50, vendor: few, headReserve: 0, steps: syncs(2, DAY) },
    }),
  ],
  [
    'the whole history is not billed again because one page held only conversations in which nobody has written',
    history([agent('a', 120, { historyDays: 90, silent: 0.5 }), agent('b', 0)], [], {
      ...{ vendor: { includedSessions: 700 }, seed: 1_197, maxPage: 100, steps: [] },
    }),
  ],
  [
    'an agent whose skipped conversations never end leaves requests to the others',
    history([agent('a', 10), agent('b', 10, { perDay: 40 })], [{ kind: 'skips-without-end', agentId: 'a' }], {
      steps: syncs(4, HOUR),
    }),
  ],
  [
    'an agent whose skipped conversations never ended is read completely once they end',
    history(
      [agent('a', 3, { historyDays: 90, perDay: 2 })],
      [{ kind: 'skips-without-end', agentId: 'a', fromMs: MINUTE, untilMs: 2 * DAY }],
      {
        ...{ seed: 296, maxPage: 100 },
        steps: [{ waitMs: HOUR }, ...syncs(1, MINUTE), ...syncs(1, 12 * HOUR), ...syncs(1)],
      },
    ),
  ],
]

it.each(BROKEN)('%s', async (_, given) => expect(await violated(given)).toEqual([]))

it.each(['constructor', '__proto__', 'toString'])('an agent with the id %s is exported', async id => {
  expect(await violated(history([agent(id, 10)], []))).toEqual([])
})

it('a vendor that ignores the range is not billed for its whole history at every poll', async () => {
  const given = history([agent('a', 300)], [{ kind: 'range-ignored', agentId: 'a' }], { steps: syncs(8, HOUR) })
  const world = await runHistory(given)
  // Twice four pages: the range behind a full last page, and that of the first poll. Then single conversations at growing intervals.
  expect(billedBy(world)).toBeLessThan(300 + 2 * 4 * 20 + 100)
  expect(violationsOf(world)).toEqual([])
})

it.each(['cursor-leads-nowhere', 'limit-clamped', 'cursor-status'] as const)(
  'a page that promised more, or was cut by the vendor, hides nothing: %s',
  async kind => {
    const given = history([agent('a', 150), agent('b', 10)], [{ kind, agentId: 'a' }], { maxPage: 50 })
    const world = await runHistory(given)
    const { report } = world.syncs[0]!
    expect(report).toMatchObject({ outcome: 'done', agentsGone: [] })
    expect(report!.conversations).toBeGreaterThanOrEqual(160)
    expect(billedBy(world)).toBeLessThan(160 + 40)
  },
)

it('conversations are not gone because the vendor selects only the first of them', async () => {
  const ids = Array.from({ length: 60 }, (_, at) => `a${at}`)
  const refresh = { sync: { mode: 'selected', ids: [['a', ids]] } } as const
  const steps: Step[] = [{ sync: {} }, { waitMs: DAY }, refresh]
  const { syncs: made, warehouse } = await runHistory(
    history([agent('a', 60)], [{ kind: 'ids-limited', agentId: 'a' }], { maxPage: 100, steps }),
  )
  expect(made[1]!.report!.conversations).toBe(60)
  expect([...warehouse.conversations.values()].filter(one => one.missingSinceMs !== null)).toEqual([])
})

it.each([
  ['unreadable', 'data-null'],
  ['fails', 'billed'],
  ['cut', undefined],
] as const)(
  'a damaged page is requested at most as four full pages, and nothing waits for the next sync: %s %s',
  async (kind, word) => {
    for (const record of ['a0', 'a41', 'a256', 'a471', 'a480', 'a599']) {
      const damaged: Behaviour = { kind, agentId: 'a', records: [record], ...(word && { word }) }
      const world = await runHistory(history([agent('a', 600)], [damaged], { maxPage: 100, steps: syncs(2) }))
      const { report, endedMs } = world.syncs[0]!
      expect(report).toMatchObject({ outcome: 'done' })
      expect(report!.conversations, record).toBeGreaterThanOrEqual(599)
      const sessions = world.vendor.bills.reduce((sum, bill) => sum + (bill.atMs <= endedMs ? bill.sessions : 0), 0)
      expect(sessions - 599, record).toBeLessThanOrEqual(4 * 100)
      expect(violationsOf(world), record).toEqual([])
    }
  },
)

it('a damaged page that is the oldest is reached by growing steps, not from 1970 on', async () => {
  const records = Array.from({ length: 60 }, (_, index) => `a${index * 10}`)
  const damaged: Behaviour = { kind: 'unreadable', word: 'data-null', agentId: 'a', records }
  const world = await runHistory(history([agent('a', 600)], [damaged], { steps: syncs(6, DAY) }))
  const read = world.syncs.slice(1, 6).reduce((sum, { report }) => sum + report!.conversations, 0)
  expect(read).toBeGreaterThan(100)
})

it.each([403, 401])('a refusal of three agents by %i concerns them alone, since others are answered', async value => {
  const agents = Array.from({ length: 12 }, (_, index) => agent(`a${index}`, 10, { perDay: 24 }))
  const refused = ['a9', 'a10', 'a11'].map((agentId): Behaviour => ({ kind: 'refused', value, agentId }))
  const world = await runHistory(history(agents, refused, { steps: syncs(3, 30 * HOUR) }))
  for (const { report } of world.syncs.slice(0, 3))
    expect(report!.failures.map(({ agentId }) => agentId).sort()).toEqual(['a10', 'a11', 'a9'])
  expect(violationsOf(world)).toEqual([])
})

it('neither the quota nor --max-sessions is exceeded because each answer repeats the usage of the first one', async () => {
  const frozen: Behaviour = { kind: 'usage-object-frozen' }
  const agents = [agent('a', 600)]
  expect(await violated(history(agents, [frozen], { vendor: few, headReserve: 0 }))).toEqual([])
  const limited = await runHistory(history(agents, [frozen], { steps: [{ sync: { maxSessions: 100 } }] }))
  expect(limited.syncs[0]!.report!.sessions).toBeLessThanOrEqual(100)
  expect(violationsOf(limited)).toEqual([])
})

it.each([undefined, 400 * DAY])(
  'a time that records lack, or have of the future (%s), does not export the history at every poll',
  async value => {
    const undated: Behaviour = { kind: 'record-times', agentId: 'a', ...(value !== undefined && { value }) }
    const world = await runHistory(history([agent('a', 60)], [undated], { steps: syncs(8, HOUR) }))
    expect(billedBy(world)).toBeLessThanOrEqual(60 + 4 * 20)
  },
)
