import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Coverage, cover } from '../../../src/core/planning/coverage.ts'
import { projectedSessions } from '../../../src/core/planning/estimate.ts'
import {
  type AgentFacts,
  NO_REFRESH,
  type Plan,
  type PlanOptions,
  planWindows,
  pollSeconds,
} from '../../../src/core/planning/planner.ts'
import { takesMostOfQuota } from '../../../src/core/planning/price.ts'
import { newProgress, type WindowProgress } from '../../../src/core/planning/windows.ts'
import { DAY, HOUR, MINUTE } from '../../../src/core/time.ts'
import { rounds } from '../../tier.ts'

const NOW = 1_750_000_000_000
const NOW_SEC = NOW / 1_000
const SETTLE = 2 * MINUTE
const LAST = NOW_SEC - SETTLE / 1_000 - 1

const agent = (given: Partial<AgentFacts> = {}): AgentFacts => ({
  agentId: 'a',
  title: null,
  coverage: [],
  open: [],
  density: null,
  ...given,
})

const planned = (given: Partial<PlanOptions> = {}): Plan =>
  planWindows({
    agents: [agent()],
    nowMs: NOW,
    settleMs: SETTLE,
    sinceMs: null,
    untilMs: null,
    mode: { kind: 'incremental' },
    refreshes: NO_REFRESH,
    gapSessions: 500,
    maxPage: 100,
    idsPerRequest: 100,
    requestsPerHour: 1_500,
    ...given,
  })

const boundsOf = (plan: Plan) =>
  plan.windows.map(({ progress: { window } }) => [window.agentId, window.kind, window.fromSec, window.toSec])

const FULL = { kind: 'full' as const, agents: [] }

const openWindow = (kind: 'tail' | 'head' | 'full', fromSec: number | null, toSec: number): WindowProgress =>
  newProgress({ name: `w-${kind}-${fromSec}-${toSec}`, agentId: 'a', kind, fromSec, toSec, openedAtMs: NOW - DAY })

describe('a plan', () => {
  it.each([0, -5 * DAY, 1_000, 1e11, 1e12 - 1])(
    'since %d ms starts at the beginning, and needs no more than coverage from 0',
    sinceMs => {
      expect(boundsOf(planned({ sinceMs }))).toEqual([['a', 'tail', null, LAST]])
      expect(boundsOf(planned({ sinceMs, agents: [agent({ coverage: [{ from: 0, to: LAST }] })] }))).toEqual([])
    },
  )

  it('leaves a window that backs off and its range alone, and still reads newer time', () => {
    const claimed = openWindow('head', 1_000, LAST - 900)
    const agents = [agent({ coverage: [{ from: 0, to: 999 }], open: [claimed] })]
    expect(boundsOf(planned({ agents })).map(([, kind]) => kind)).toEqual(['head', 'head'])
    const resting = agents.map(facts => ({ ...facts, backingOff: [claimed.window.name] }))
    expect(boundsOf(planned({ agents: resting }))).toEqual([['a', 'head', LAST - 899, LAST]])
  })

  it('exports everything again in one full window, which is started once', () => {
    const coverage = [{ from: 0, to: LAST }]
    expect(boundsOf(planned({ agents: [agent({ coverage })], mode: FULL }))).toEqual([['a', 'full', null, LAST]])
    const open = openWindow('full', null, LAST - 10)
    expect(boundsOf(planned({ agents: [agent({ coverage, full: [open] })], mode: FULL }))).toEqual([
      ['a', 'full', null, LAST - 10],
    ])
  })

  it('orders head windows before history, the stalest first', () => {
    const agents = [
      agent({ agentId: 'fresh', coverage: [{ from: 0, to: LAST - 60 }] }),
      agent({ agentId: 'new' }),
      agent({ agentId: 'stale', coverage: [{ from: 0, to: LAST - 9_000 }] }),
    ]
    expect(planned({ agents }).windows.map(({ progress }) => progress.window.agentId)).toEqual([
      'stale',
      'fresh',
      'new',
    ])
  })

  it('prices windows of a known density, and counts the others', () => {
    const density = { perDay: { low: 10, high: 20 }, newPerDay: 14, sessionsPerConversation: 2, mostSessions: 2 }
    const agents = [
      agent({ agentId: 'known', coverage: [{ from: 0, to: LAST - 86_400 }], density }),
      agent({ agentId: 'new' }),
    ]
    const plan = planned({ agents })
    expect(plan.total).toEqual({
      conversations: { low: 10, high: 20 },
      sessions: { low: 20, high: 40 },
      requests: { low: 1, high: 1 },
    })
    expect(plan.unknown).toBe(1)
    // The projected rate is 14 conversations a day (98 in a week), plus two standard deviations.
    expect(projectedSessions(plan.outlook, null)).toBe(Math.ceil(14 * 2 * (1 + 2 / Math.sqrt(98)) * 31))
    expect(plan.outlook.learned).toEqual([{ agentId: 'new', perDay: null, conversations: 0 }])
  })

  it('warns about a first backfill that may take most of the quota', () => {
    const density = { perDay: { low: 0, high: 1_000 }, newPerDay: 400, sessionsPerConversation: 1, mostSessions: 2 }
    const plan = planned({ agents: [agent({ density })], sinceMs: NOW - 30 * DAY })
    expect(takesMostOfQuota(plan, 50_000)).toBe(true)
    expect(takesMostOfQuota(plan, 100_000)).toBe(false)
  })
})

describe('polls', () => {
  it('are spaced so that thousands of agents fit the rate limit and no agent starves', () => {
    const agents = Array.from({ length: 5_000 }, (_, index) =>
      agent({ agentId: `a${index}`, coverage: [{ from: 0, to: LAST - 10 - index * 4 }] }),
    )
    const spacing = pollSeconds(5_000, 1_500)
    expect(5_000 / (spacing / 3_600)).toBeLessThanOrEqual(1_500 * 0.8 + 1)
    const due = planned({ agents }).windows.map(({ progress }) => progress.window)
    expect(due.length).toBe(5_000 - Math.ceil((spacing - 10) / 4))
    expect(due[0]?.agentId).toBe('a4999')
    expect(due.every(window => window.toSec - window.fromSec! + 1 >= spacing)).toBe(true)
  })
})

describe('a selection', () => {
  const select = (ids: string[], given: Partial<AgentFacts> = {}) =>
    planned({ agents: [agent(given)], mode: { kind: 'selected', ids: new Map([['a', ids]]) } }).windows

  it('requests each id once, a thousand per window', () => {
    const ids = Array.from({ length: 2_300 }, (_, index) => `id${index}`)
    const windows = select([...ids, ...ids]).map(({ progress }) => progress.window)
    expect(windows.map(window => window.ids?.length)).toEqual([1_000, 1_000, 300])
    expect(windows.flatMap(window => window.ids)).toEqual(ids)
    expect(new Set(windows.map(window => window.name)).size).toBe(3)
  })

  it('continues a killed window over the same ids, and requests the others in a new one', () => {
    const killed = {
      ...newProgress({
        name: 's',
        agentId: 'a',
        kind: 'selected',
        fromSec: null,
        toSec: 0,
        openedAtMs: NOW - HOUR,
        ids: ['x', 'y'],
      }),
      asked: 1,
    }
    const windows = select(['z', 'y', 'x'], { open: [killed] })
    expect(windows.map(({ progress, resumes }) => [progress.window.ids, progress.asked, resumes])).toEqual([
      [['x', 'y'], 1, true],
      [['z'], 0, false],
    ])
    expect(select(['x'], { open: [killed] }).map(({ resumes }) => resumes)).toEqual([false])
    const old = { ...killed, window: { ...killed.window, openedAtMs: NOW - 2 * DAY } }
    expect(select(['x', 'y'], { open: [old] }).map(({ resumes }) => resumes)).toEqual([false])
  })
})

describe('plans that are executed repeatedly', () => {
  const round = fc.record({
    stepSec: fc.integer({ min: 0, max: 5_000 }),
    settleMs: fc.integer({ min: 0, max: 400_000 }),
    sinceAgoSec: fc.option(fc.integer({ min: 1, max: 20_000 }), { nil: null }),
    untilAgoSec: fc.option(fc.integer({ min: 0, max: 4_000 }), { nil: null }),
    full: fc.boolean(),
    /** Bit mask of the planned windows that finish in this round; the others stay open. */
    finished: fc.nat(),
  })

  it('cover each second once, never overlap, and never plan what an open window claims', () => {
    fc.assert(
      fc.property(fc.array(round, { minLength: 1, maxLength: 15 }), rounds => {
        let coverage: Coverage = []
        let open: WindowProgress[] = []
        let nowMs = NOW
        const read = new Set<number>()
        const twice: number[] = []
        for (const [index, { stepSec, settleMs, sinceAgoSec, untilAgoSec, finished }] of rounds.entries()) {
          nowMs += stepSec * 1_000 + index
          const plan = planned({
            agents: [agent({ coverage, open })],
            nowMs,
            settleMs,
            sinceMs: nowMs - (sinceAgoSec ?? 40_000) * 1_000,
            untilMs: untilAgoSec === null ? null : nowMs - untilAgoSec * 1_000,
            requestsPerHour: 1_000_000,
          })
          const windows = plan.windows.map(({ progress }) => progress)
          for (const { window } of windows) expect(window.toSec * 1_000 + 999).toBeLessThan(nowMs)
          for (const progress of plan.windows.filter(({ resumes }) => !resumes).map(({ progress }) => progress)) {
            const { fromSec, toSec } = progress.window
            for (let second = fromSec ?? 0; second <= toSec; second++) {
              if (read.has(second)) twice.push(second)
              read.add(second)
            }
          }
          open = windows.filter((_, place) => ((finished >> place) & 1) === 0)
          for (const { window } of windows.filter(progress => !open.includes(progress)))
            coverage = cover(coverage, { from: window.fromSec ?? 0, to: window.toSec })
        }
        // One check for all: an `expect` for each of about a million seconds took sixteen seconds of processor time.
        expect(twice).toEqual([])
        for (const { from, to } of coverage) for (const second of [from, to]) expect(read.has(second)).toBe(true)
      }),
      { numRuns: rounds('FAULT_RUNS', { usual: 25, deep: 600 }) },
    )
  })

  it('leave no gap: once they are finished, all settled time is covered', () => {
    fc.assert(
      fc.property(fc.array(round, { minLength: 1, maxLength: 15 }), rounds => {
        let coverage: Coverage = []
        let nowMs = NOW
        for (const { stepSec } of rounds) {
          nowMs += stepSec * 1_000 + 10_000
          const plan = planned({ agents: [agent({ coverage })], nowMs, requestsPerHour: 1_000_000 })
          for (const { progress } of plan.windows)
            coverage = cover(coverage, { from: progress.window.fromSec ?? 0, to: progress.window.toSec })
          expect(coverage).toEqual([{ from: 0, to: Math.floor((nowMs - SETTLE) / 1_000) - 1 }])
        }
      }),
    )
  })

  it('ends before the first conversation whose first export waits, and reads on from there once it is quiet', () => {
    const coverage = [{ from: 0, to: LAST - 7_200 }]
    const active = { conversations: 2, sinceSec: LAST - 3_600 }
    const plan = planned({ agents: [agent({ coverage, active })] })
    expect(boundsOf(plan)).toEqual([['a', 'head', LAST - 7_199, LAST - 3_601]])
    expect(plan.active).toBe(2)
    const next = planned({ agents: [agent({ coverage: [{ from: 0, to: LAST - 3_601 }] })] })
    expect(boundsOf(next)).toEqual([['a', 'head', LAST - 3_600, LAST]])
    expect(boundsOf(planned({ agents: [agent({ coverage, active: { ...active, sinceSec: LAST - 7_199 } })] }))).toEqual(
      [],
    )
    const refreshes = { ...NO_REFRESH, refresh: new Map([['a', ['x', 'y']]]), known: new Map([['a', ['y']]]) }
    const waiting = planned({ agents: [agent({ coverage, active: { ...active, sinceSec: 0 } })], refreshes })
    expect(waiting.windows.map(({ progress: { window } }) => [window.kind, window.ids, window.known])).toEqual([
      ['refresh', ['x', 'y'], ['y']],
    ])
  })
})
