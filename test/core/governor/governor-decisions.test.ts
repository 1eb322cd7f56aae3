import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Decision,
  type GovernorOptions,
  type GovernorState,
  govern,
  newGovernor,
  requestLease,
} from '../../../src/core/governor/governor.ts'
import type { Answer } from '../../../src/core/governor/lease-entries.ts'
import { surpriseReserve } from '../../../src/core/governor/page-size.ts'
import { sessionsFor } from '../../../src/core/governor/session-budget.ts'
import { MINUTE } from '../../../src/core/time.ts'

const NOW = 1_750_000_000_000

/** Returns an answer that reports a usage; fields that are not given have ordinary values. */
const answer = (given: Partial<Answer> & { used?: number; included?: number } = {}): Answer => ({
  sentAtMs: NOW,
  receivedAtMs: NOW + 5,
  status: 200,
  returned: 0,
  billed: 0,
  usage: {
    periodKey: 'p1',
    billableUsedThisRequest: given.billed ?? 0,
    billableUsedThisPeriod: given.used ?? 0,
    includedQuota: given.included ?? 50_000,
    billableRemainingThisPeriod: null,
    overageUsedThisPeriod: null,
    overagePacksCharged: null,
    exportRequestCount: null,
  },
  rateLimit: null,
  retryAfterMs: null,
  ...given,
})

/** An agent whose conversations have 1.25 sessions on average, and at most two. */
const KNOWN = [{ agentId: 'a', returned: 1_000, billed: 1_250, most: 2 }]

/** Returns a governor that knows agent `a` and has received the same usage report twice, so that the usage counts as confirmed. */
function governorWith(given: Partial<GovernorOptions> = {}, used = 0, included = 50_000): GovernorState {
  const report = { kind: 'answered' as const, lease: null, answer: answer({ used, included, sentAtMs: NOW - 1 }) }
  return { ...govern(govern(newGovernor(given), report), report), agents: KNOWN }
}

const granted = (decision: Decision) => {
  if (decision.kind !== 'grant') throw new Error(JSON.stringify(decision))
  return decision.grant
}

describe('a governor without any reported usage', () => {
  it('grants one probe, which may bill nothing', () => {
    const [state, decision] = requestLease(newGovernor(), { lease: 'a', agentId: 'a', kind: 'tail', wants: 10 }, NOW)
    expect(granted(decision)).toMatchObject({ kind: 'probe', requests: 1, sessions: 0, pageSessions: 0 })
    expect(requestLease(state, { lease: 'b', agentId: 'a', kind: 'tail', wants: 10 }, NOW)[1]).toMatchObject({
      kind: 'wait',
      reason: 'leased',
    })
  })
})

describe('the page size', () => {
  it('shrinks as the sessions run out, and never holds more than is left', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2_000 }), fc.integer({ min: 0, max: 2_000 }), (a, b) => {
        const grants = [Math.min(a, b), Math.max(a, b)].map(used => {
          const state = governorWith({}, used, 2_000)
          const decision = requestLease(state, { lease: 'a', agentId: 'a', kind: 'head', wants: 5 }, NOW)[1]
          if (decision.kind === 'grant')
            expect(decision.grant.sessions).toBeLessThanOrEqual(sessionsFor(state, 'head', NOW))
          return decision.kind === 'grant' ? decision.grant.limit : 0
        })
        expect(grants[1]).toBeLessThanOrEqual(grants[0]!)
      }),
    )
  })

  const running = (limit: number, used: number) =>
    granted(
      requestLease(governorWith({}, used, 2_000), { lease: 'a', agentId: 'a', kind: 'head', wants: 5, limit }, NOW)[1],
    ).limit

  it('stays that of the current generation while larger pages would not fit several times', () => {
    expect(running(20, 1_900)).toBe(20)
    expect(running(50, 1_450)).toBe(50)
    expect(running(100, 1_790)).toBe(100)
  })

  it('grows again when sessions return, but only if several such pages fit', () => {
    expect(running(1, 0)).toBe(100)
    expect(running(20, 1_400)).toBe(50)
    expect(running(20, 1_750)).toBe(20)
    expect(running(1, 1_980)).toBe(2)
  })

  it('does not shrink for concurrent leases: a lease takes at most half of the remaining sessions', () => {
    const [state, first] = requestLease(
      governorWith({}, 1_000, 2_000),
      { lease: 'a', agentId: 'a', kind: 'head', wants: 20 },
      NOW,
    )
    expect(granted(first)).toMatchObject({ limit: 100, requests: 3 + 2 })
    expect(granted(requestLease(state, { lease: 'b', agentId: 'a', kind: 'head', wants: 20 }, NOW)[1])).toMatchObject({
      limit: 100,
    })
  })
})

describe('a paused governor', () => {
  it('opens with the first answer to a request sent after the failure', () => {
    const paused = govern(governorWith(), {
      kind: 'answered',
      lease: null,
      answer: answer({ status: 503, usage: null }),
    })
    const early = govern(paused, { kind: 'answered', lease: null, answer: answer({ sentAtMs: NOW + 4 }) })
    expect(early.mode).toBe('paused')
    const later = govern(paused, { kind: 'answered', lease: null, answer: answer({ sentAtMs: NOW + MINUTE }) })
    expect(later.mode).toBe('open')
  })

  /** A lease from before the failure is still held; a probe was granted two minutes after the failure. */
  const probingBesideEarlier = () => {
    const [held] = requestLease(governorWith(), { lease: 'earlier', agentId: 'a', kind: 'head', wants: 1 }, NOW)
    const paused = govern(held, { kind: 'answered', lease: null, answer: answer({ status: 503, usage: null }) })
    return requestLease(paused, { lease: 'probe', agentId: 'a', kind: 'head', wants: 5 }, NOW + 2 * MINUTE)[0]
  }

  it('sends no second probe when another lease reports an earlier failure', () => {
    const late = govern(probingBesideEarlier(), {
      kind: 'answered',
      lease: 'earlier',
      answer: answer({ status: 503, usage: null, receivedAtMs: NOW + 10 }),
    })
    const again = requestLease(late, { lease: 'b', agentId: 'a', kind: 'head', wants: 1 }, NOW + 2 * MINUTE)[1]
    expect(again).toMatchObject({ kind: 'wait', reason: 'paused' })
    const failed = govern(late, {
      kind: 'answered',
      lease: 'probe',
      answer: answer({ status: 503, usage: null, sentAtMs: NOW + 2 * MINUTE, receivedAtMs: NOW + 2 * MINUTE }),
    })
    const ended = govern(failed, { kind: 'ended', lease: 'probe' })
    const next = requestLease(ended, { lease: 'c', agentId: 'a', kind: 'head', wants: 5 }, NOW + 3 * MINUTE)[1]
    expect(granted(next).requests).toBe(1)
  })

  it('does not wait for other leases once that of the probe has ended without an answer', () => {
    const ended = govern(probingBesideEarlier(), { kind: 'ended', lease: 'probe' })
    expect(ended.mode).toBe('paused')
    expect(
      granted(requestLease(ended, { lease: 'b', agentId: 'a', kind: 'head', wants: 5 }, NOW + 2 * MINUTE)[1]).requests,
    ).toBe(1)
  })
})

describe('a lost answer', () => {
  function afterLosing(state: GovernorState, how: Partial<Answer> = {}): GovernorState {
    const [leased, decision] = requestLease(state, { lease: 'a', agentId: 'a', kind: 'head', wants: 1 }, NOW)
    const lost = answer({ status: null, usage: null, receivedAtMs: NOW + MINUTE, ...how })
    const ended = govern(govern(leased, { kind: 'answered', lease: granted(decision).lease, answer: lost }), {
      kind: 'ended',
      lease: 'a',
    })
    return ended
  }

  it('is assumed billed until a later count arrives', () => {
    const state = afterLosing(governorWith({}, 0, 1_000))
    expect(state.quota.pending?.sessions).toBe(150 + surpriseReserve(1_000))
    const cleared = govern(state, {
      kind: 'answered',
      lease: null,
      answer: answer({ sentAtMs: NOW + MINUTE, used: 150 }),
    })
    expect(cleared.quota).toMatchObject({ pending: null, usedSessions: 150 })
  })

  it('pauses the governor, unless we gave up on it ourselves', () => {
    expect(afterLosing(governorWith()).mode).toBe('paused')
    const state = afterLosing(governorWith({}, 0, 1_000), { givenUp: true })
    expect(state).toMatchObject({ mode: 'open', lost: { answers: 1, sessions: 150 } })
    expect(state.quota.pending?.sessions).toBe(150 + surpriseReserve(1_000))
  })
})

it('a raised budget reopens an exhausted period, and is never lowered', () => {
  const spent = governorWith({}, 50_000)
  expect(requestLease(spent, { lease: 'a', agentId: 'a', kind: 'head', wants: 1 }, NOW)[1]).toEqual({
    kind: 'refuse',
    reason: 'period',
  })
  const raised = govern(govern(spent, { kind: 'allow', packs: 2 }), { kind: 'allow', packs: 1 })
  expect(raised.options.allowedPacks).toBe(2)
  expect(granted(requestLease(raised, { lease: 'a', agentId: 'a', kind: 'head', wants: 1 }, NOW)[1]).limit).toBe(100)
})
