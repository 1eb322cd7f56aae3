// The windows of several agents in one queue: how they share the requests of the hour.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nextWindow, requestsInShare } from '../../../src/core/governor/fair-share.ts'
import { type GovernorState, govern, newGovernor, requestLease } from '../../../src/core/governor/governor.ts'
import { newProgress, openWindow, type WindowKind, type WindowProgress } from '../../../src/core/planning/windows.ts'

const NOW = 1_750_000_000_000
const PER_HOUR = 120

const windowOf = (agentId: string, kind: WindowKind): WindowProgress =>
  newProgress(openWindow({ agentId, kind, fromSec: 0, toSec: 1_750_000_000, openedAtMs: NOW }))

const answer = (nowMs: number) => ({
  sentAtMs: nowMs,
  receivedAtMs: nowMs,
  status: 200,
  returned: 0,
  billed: 0,
  usage: null,
  rateLimit: null,
  retryAfterMs: null,
})

/** Returns the requests of each agent, in the order in which they were made, until the hour has none left for any window. */
function spendHour(
  windows: readonly { agentId: string; kind: WindowKind; requests: number }[],
  given: GovernorState = newGovernor({ requestsPerHour: PER_HOUR, polledAgents: 3 }),
): { state: GovernorState; made: { agentId: string; kind: WindowKind; waiting: Set<string> }[] } {
  let state = govern(given, { kind: 'answered', lease: null, answer: answer(NOW - 2 * 3_600_000) })
  const left = new Map(windows.map(({ requests, ...one }) => [windowOf(one.agentId, one.kind), requests]))
  let waiting = [...left.keys()]
  const made = []
  for (let refused = 0; refused < waiting.length; ) {
    const next = nextWindow(state, waiting, NOW)!
    const rest = waiting.filter(progress => progress !== next)
    const { agentId, kind } = next.window
    const wants = Math.min(20, left.get(next)!, requestsInShare(state, next, rest, NOW))
    const [leased, decision] = requestLease(state, { lease: 'l', agentId, kind, wants }, NOW)
    state = leased
    waiting = [...rest, next]
    refused = decision.kind === 'grant' ? 0 : refused + 1
    if (decision.kind !== 'grant') continue
    for (let request = 0; request < decision.grant.requests; request++) {
      state = govern(state, { kind: 'answered', lease: 'l', answer: answer(NOW) })
      made.push({ agentId, kind, waiting: new Set(rest.map(({ window }) => window.agentId)) })
    }
    state = govern(state, { kind: 'ended', lease: 'l' })
    left.set(next, left.get(next)! - decision.grant.requests)
    if (left.get(next)! <= 0) waiting = rest
  }
  return { state, made }
}

const requests = fc.oneof(fc.integer({ min: 1, max: 10 }), fc.constant(1_000))
const windows = fc.uniqueArray(
  fc.record({ agentId: fc.constantFrom('a', 'b', 'c'), kind: fc.constantFrom<WindowKind>('head', 'tail'), requests }),
  { minLength: 1, maxLength: 6, selector: ({ agentId, kind }) => `${agentId} ${kind}` },
)

describe('the requests of an hour', () => {
  it('are shared equally among the agents that wait, and none stays unused while one of them could use it', () => {
    fc.assert(
      fc.property(windows, drawn => {
        const { made } = spendHour(drawn)
        const asked = drawn.reduce((sum, one) => sum + one.requests, 0)
        // Two requests are reserved for people, and six for polls, which history does not use.
        expect(made.length).toBeGreaterThanOrEqual(Math.min(asked, PER_HOUR - 2 - 6))
        for (const kind of ['head', 'tail'] as const) {
          const rivals = new Set(drawn.filter(one => one.kind === kind).map(({ agentId }) => agentId))
          const endless = drawn.filter(one => one.kind === kind && one.requests === 1_000)
          const counts = endless.map(({ agentId }) => made.filter(one => one.agentId === agentId && one.kind === kind))
          if (drawn.some(one => one.kind !== kind) || rivals.size !== endless.length) continue
          // All of them waited all the time: none has more than its share and the reserve for polls.
          for (const own of counts) expect(own.length).toBeLessThanOrEqual(PER_HOUR / rivals.size + 6)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('are all for the only agent that waits', () => {
    expect(
      spendHour([{ agentId: 'a', kind: 'head', requests: 1_000 }], newGovernor({ requestsPerHour: PER_HOUR })).made,
    ).toHaveLength(PER_HOUR - 2)
  })

  it('are left to the new conversations of others when one agent needs pages without end', () => {
    const { state, made } = spendHour([{ agentId: 'a', kind: 'head', requests: 1_000 }])
    expect(made).toHaveLength(PER_HOUR - 2 - 6)
    const polls = spendHour(
      [
        { agentId: 'b', kind: 'head', requests: 2 },
        { agentId: 'c', kind: 'head', requests: 2 },
      ],
      state,
    )
    for (const agent of ['b', 'c'])
      expect(polls.made.filter(({ agentId }) => agentId === agent).length).toBeGreaterThanOrEqual(2)
  })

  it('go to new conversations before history, of one agent for half of the hour while history of others waits', () => {
    const { made } = spendHour([
      { agentId: 'a', kind: 'head', requests: 1_000 },
      { agentId: 'b', kind: 'tail', requests: 1_000 },
    ])
    const first = made.findIndex(({ agentId }) => agentId === 'b')
    // A lease may end a few requests later.
    expect(first).toBeGreaterThanOrEqual(PER_HOUR / 2)
    expect(first).toBeLessThan(PER_HOUR / 2 + 7)
    expect(made.filter(({ agentId }) => agentId === 'b').length).toBeGreaterThanOrEqual(PER_HOUR / 2 - 7 - 2 - 6)
  })
})
