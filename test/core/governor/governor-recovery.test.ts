import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type GovernorState,
  govern,
  newGovernor,
  requestLease,
  requestsFor,
} from '../../../src/core/governor/governor.ts'
import { recoverGovernor } from '../../../src/core/governor/governor-recovery.ts'
import type { LeaseEntry } from '../../../src/core/governor/lease-entries.ts'
import { sessionsFor } from '../../../src/core/governor/session-budget.ts'

const START = 1_750_000_000_000
const OPTIONS = { requestsPerHour: 50 }
const INCLUDED = 4_000

interface Undisturbed {
  /** Entries of a runner's lease log, each with the governor's state right after it. */
  log: { entry: LeaseEntry; after: GovernorState }[]
  endMs: number
}

interface PlannedLease {
  kind: 'head' | 'tail' | 'selected'
  wants: number
  outcomes: { status: number | null; billed: number; latencyMs: number }[]
  pauseMs: number
}

const outcome = fc.record({
  status: fc.constantFrom(200, 200, 200, 200, null, 429, 500),
  billed: fc.nat(150),
  latencyMs: fc.integer({ min: 1, max: 20_000 }),
})
const lease: fc.Arbitrary<PlannedLease> = fc.record({
  kind: fc.constantFrom('head', 'tail', 'selected' as const),
  wants: fc.integer({ min: 1, max: 5 }),
  outcomes: fc.array(outcome, { minLength: 1, maxLength: 5 }),
  pauseMs: fc.constantFrom(0, 1_000, 61_000, 900_000),
})
const lags = fc.constantFrom(0, 0, 1, 2, 5)
const leases = fc.array(lease, { minLength: 1, maxLength: 25 })

/**
 * Runs the planned leases one after another and reports each to the governor and the lease log; usage reports omit the
 * newest `lag` requests.
 */
function undisturbed(plan: readonly PlannedLease[], lag = 0): Undisturbed {
  const log: Undisturbed['log'] = []
  let state = newGovernor(OPTIONS)
  let nowMs = START
  let used = 0
  const counts = [0]
  for (const [index, { kind, wants, outcomes, pauseMs }] of plan.entries()) {
    nowMs += pauseMs
    const [next, decision] = requestLease(state, { lease: `l${index}`, agentId: 'a', kind, wants }, nowMs)
    state = next
    if (decision.kind !== 'grant') continue
    const { grant } = decision
    const note = (entry: LeaseEntry) => log.push({ entry, after: state })
    note({
      kind: 'lease',
      lease: grant.lease,
      window: grant.kind === 'probe' ? 'probe' : `20261120T204946123Z-${kind}-1-2`,
      agentId: 'a',
      requests: grant.requests,
      sessions: grant.sessions,
      pageSessions: grant.pageSessions,
      atMs: nowMs,
      deadlineMs: grant.deadlineMs,
    })
    for (const { status, billed: wanted, latencyMs } of outcomes.slice(0, grant.requests)) {
      const sentAtMs = nowMs
      nowMs += latencyMs
      const billed = status === 200 ? Math.min(wanted, grant.pageSessions) : 0
      used += billed
      counts.push(used)
      const usage = {
        periodKey: 'p',
        billableUsedThisRequest: billed,
        billableUsedThisPeriod: counts.at(-1 - lag) ?? 0,
        includedQuota: INCLUDED,
        billableRemainingThisPeriod: null,
        overageUsedThisPeriod: null,
        overagePacksCharged: null,
        exportRequestCount: null,
      }
      const entry = {
        kind: 'request' as const,
        lease: grant.lease,
        agentId: 'a',
        sentAtMs,
        receivedAtMs: nowMs,
        status,
        error: null,
        returned: 0,
        billed,
        usage: status === 200 ? usage : null,
        rateLimit: null,
        retryAfterMs: null,
      }
      state = govern(state, { kind: 'answered', lease: grant.lease, answer: entry })
      note(entry)
    }
    state = govern(state, { kind: 'ended', lease: grant.lease })
    note({ kind: 'end', lease: grant.lease, atMs: nowMs })
  }
  return { log, endMs: nowMs }
}

describe('a governor recovered from the lease log', () => {
  it('allows no more than the undisturbed one, wherever the log is cut', () => {
    fc.assert(
      fc.property(leases, fc.nat(), fc.boolean(), lags, (plan, cut, holdersDead, lag) => {
        const { log, endMs } = undisturbed(plan, lag)
        if (log.length === 0) return
        const at = cut % log.length
        const kept = log.slice(0, at + 1).map(({ entry }) => entry)
        const state = recoverGovernor(OPTIONS, kept, { nowMs: endMs, holdersDead })
        // The undisturbed state also counts what its run has spent, which does not matter: OPTIONS limit no run.
        const uncut = log[at]!.after
        const open = uncut.leases.filter(held => kept.some(entry => entry.kind === 'lease' && entry.lease === held.id))
        const before = holdersDead ? { ...uncut, leases: [] } : { ...uncut, leases: open }
        for (const kind of ['head', 'tail', 'selected'] as const) {
          expect(requestsFor(state, { kind, agentId: 'a' }, endMs)).toBeLessThanOrEqual(
            requestsFor(before, { kind, agentId: 'a' }, endMs),
          )
          if (state.quota.known)
            expect(sessionsFor(state, kind, endMs)).toBeLessThanOrEqual(sessionsFor(before, kind, endMs))
        }
        expect(state.pausedUntilMs).toBe(before.pausedUntilMs)
      }),
      { numRuns: 300 },
    )
  })

  it('equals the undisturbed one if nothing is cut, except for what that run spent', () => {
    fc.assert(
      fc.property(leases, lags, (plan, lag) => {
        const { log, endMs } = undisturbed(plan, lag)
        const state = recoverGovernor(
          OPTIONS,
          log.map(({ entry }) => entry),
          { nowMs: endMs, holdersDead: true },
        )
        const uncut = log.at(-1)?.after ?? newGovernor(OPTIONS)
        const { rateLimit, quota, mode, pausedUntilMs, agents } = uncut
        const ended = mode === 'probing' ? 'paused' : mode
        expect(state).toMatchObject({
          rateLimit,
          quota,
          mode: ended,
          pausedUntilMs,
          agents,
          leases: [],
        })
        expect(state).toMatchObject({ spent: { requests: 0, sessions: 0 }, breaches: 0 })
      }),
    )
  })

  /** Returns the log of a probe and of a lease whose end is missing. */
  const withoutEnd = (outcome: { status: number | null; billed: number }): LeaseEntry[] =>
    undisturbed([
      { kind: 'head', wants: 1, outcomes: [{ status: 200, billed: 0, latencyMs: 5 }], pauseMs: 0 },
      { kind: 'head', wants: 3, outcomes: [{ ...outcome, latencyMs: 5 }], pauseMs: 0 },
    ])
      .log.map(({ entry }) => entry)
      .filter(entry => entry.kind !== 'end' || entry.lease !== 'l1')
  const recovered = (log: LeaseEntry[], holdersDead: boolean) => {
    const state = recoverGovernor(OPTIONS, log, { nowMs: START + 100, holdersDead })
    return { state, requests: requestsFor(state, { kind: 'selected', agentId: 'a' }, START + 100) }
  }

  it('counts one request, and holds back one page, for each lease whose holder was killed', () => {
    const { state, requests } = recovered(withoutEnd({ status: 200, billed: 9 }), true)
    expect(requests).toBe(50 - 3)
    expect(state.quota.pending).toMatchObject({ sinceMs: START + 100, sessions: 500 + 4 })
  })

  it('counts one request, and holds back nothing, for a lease whose newest attempt made no connection', () => {
    const log = withoutEnd({ status: null, billed: 0 }).map(entry =>
      entry.kind === 'request' && entry.lease === 'l1' ? { ...entry, unsent: true } : entry,
    )
    const { state, requests } = recovered(log, true)
    expect(state.quota.pending).toBeNull()
    expect(requests).toBe(50 - 2)
  })

  it('counts a lease as fully spent until its hour has passed if its holder may be alive', () => {
    const { state, requests } = recovered(withoutEnd({ status: 200, billed: 9 }), false)
    expect(requests).toBe(50 - 1 - 3 - 2)
    expect(state.leases).toMatchObject([{ id: 'l1', requests: 3 + 2, made: 1, billed: 9 }])
  })
})
