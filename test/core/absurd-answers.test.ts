// The rules that run inside a workflow neither throw nor wait forever, even if a vendor's answers are absurd.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readExportEnvelope } from '../../src/client/envelopes.ts'
import { readRetryAfter } from '../../src/client/exchange.ts'
import { type GovernorState, govern, newGovernor, requestLease } from '../../src/core/governor/governor.ts'
import { recoverGovernor } from '../../src/core/governor/governor-recovery.ts'
import type { Answer } from '../../src/core/governor/lease-entries.ts'
import { HOUR } from '../../src/core/time.ts'
import { applyUpdate, newProgress, progressMarkdown } from '../../workflows/progress.ts'
import { rounds } from '../tier.ts'

const START = Date.UTC(2026, 10, 20)

const NUMBERS = [Number.NaN, Number.POSITIVE_INFINITY, 1e300, -1e300, -1, 0, 0.5, 1e13, Number.MAX_SAFE_INTEGER]
const TEXTS = ['NaN', 'Infinity', '1e400', '1_000', '0x10', '', ' ', '-7', '7.5', '\ud800', 'x'.repeat(100_000)]

const absurd = fc.oneof(
  fc.constantFrom<unknown>(...NUMBERS, ...TEXTS, true, null, undefined, [], {}),
  fc.double(),
  fc.integer({ min: 0, max: 100_000 }),
)

const usage = fc.record({
  periodKey: absurd,
  billableUsedThisRequest: absurd,
  billableUsedThisPeriod: absurd,
  includedQuota: absurd,
  billableRemainingThisPeriod: absurd,
  overageUsedThisPeriod: absurd,
  overagePacksCharged: absurd,
  exportRequestCount: absurd,
})
const rateLimit = fc.record({ requestsPerHour: absurd, remainingHour: absurd })
const DATES = ['Fri, 31 Dec 9999 23:59:59 GMT', 'Sat, 13 Sep 275760 00:00:00 GMT', 'Thu, 01 Jan 1970 00:00:00 GMT']
const DELAYS = ['99999999999999', '1700000000', '-1', 'NaN', '1e400', '1e3', 'Infinity', '0', '30']
const header = fc.oneof(fc.constantFrom(...DATES, ...DELAYS), fc.string())

interface Step {
  status: number | null
  returned: number
  usage: unknown
  rateLimit: unknown
  retryAfter: string | undefined
  passMs: number
  kind: 'head' | 'tail' | 'selected' | 'probe'
}

const step = fc.record<Step>({
  status: fc.constantFrom(null, 200, 200, 200, 404, 408, 425, 429, 500, 503),
  returned: fc.nat(100),
  usage: fc.option(fc.oneof(usage, absurd)),
  rateLimit: fc.option(fc.oneof(rateLimit, absurd)),
  retryAfter: fc.option(header, { nil: undefined }),
  passMs: fc.nat(2 * HOUR),
  kind: fc.constantFrom('head', 'tail', 'selected', 'probe'),
})

/** Returns the answer as the client parses it or, with `raw`, as a worker of another version or the lease log may supply it. */
function answerOf(
  { status, returned, usage: reportedUsage, rateLimit: limits, retryAfter }: Step,
  nowMs: number,
  raw: boolean,
): Answer {
  const data = Array.from({ length: returned }, () => ({}))
  const envelope = readExportEnvelope({ data, hasMore: false, usage: reportedUsage, rateLimit: limits })
  const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)
  return {
    sentAtMs: nowMs - 100,
    receivedAtMs: nowMs,
    status,
    returned,
    billed:
      (raw ? (reportedUsage as { billableUsedThisRequest?: never } | null)?.billableUsedThisRequest : null) ?? null,
    usage: raw ? ((isObject(reportedUsage) ? reportedUsage : null) as never) : envelope.usage,
    rateLimit: raw ? ((isObject(limits) ? limits : null) as never) : envelope.rateLimit,
    retryAfterMs: raw ? Number(retryAfter) * 1_000 : readRetryAfter(retryAfter, nowMs),
  }
}

/** Returns all numbers inside a state, at any depth; limits of null do not count. */
const numbersIn = (value: unknown): number[] =>
  typeof value === 'number'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(numbersIn)
      : []

function expectFinite(state: GovernorState): void {
  expect(numbersIn(state).filter(number => !Number.isFinite(number))).toEqual([])
  expect(JSON.parse(JSON.stringify(state))).toEqual(state)
}

function run(steps: readonly Step[], raw: boolean): void {
  let state = newGovernor()
  let nowMs = START
  for (const [at, one] of steps.entries()) {
    nowMs += one.passMs
    const [asked, decision] = requestLease(state, { lease: `l${at}`, agentId: 'a', kind: one.kind, wants: 3 }, nowMs)
    state = asked
    if (decision.kind === 'wait') {
      expect(decision.untilMs).toBeGreaterThan(nowMs)
      expect(decision.untilMs).toBeLessThanOrEqual(nowMs + HOUR + HOUR / 60)
      const { untilMs, reason } = decision
      const update = { kind: 'waiting' as const, untilMs, reason: reason === 'leased' ? ('hour' as const) : reason }
      expect(progressMarkdown(applyUpdate(newProgress(), update))).not.toMatch(/Invalid|unknown time/)
      continue
    }
    if (decision.kind === 'refuse') continue
    state = govern(state, { kind: 'answered', lease: `l${at}`, answer: answerOf(one, nowMs, raw) })
    state = govern(state, { kind: 'ended', lease: `l${at}` })
    expectFinite(state)
    const entry = { kind: 'request' as const, lease: null, agentId: 'a', error: null, ...answerOf(one, nowMs, raw) }
    const logged = JSON.parse(JSON.stringify(entry)) as typeof entry
    expectFinite(recoverGovernor({}, [logged], { nowMs, holdersDead: true }))
  }
}

describe('the rules that run inside a workflow', () => {
  it.each([
    ['as the client reads them', false],
    ['as the lease log or another worker may supply them', true],
  ])('neither throw nor wait longer than an hour for absurd answers, %s', (_, raw) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), steps => run(steps, raw)),
      { seed: 13, numRuns: rounds('FAULT_RUNS', { usual: 60, deep: 3000 }) },
    )
  })
})
