// A vendor whose usage reports are sometimes wrong, about the period or its usage, and processes that are killed at any point.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type GovernorState, govern, newGovernor, requestLease } from '../../../src/core/governor/governor.ts'
import { recoverGovernor } from '../../../src/core/governor/governor-recovery.ts'
import type { Answer, LeaseEntry } from '../../../src/core/governor/lease-entries.ts'
import { applyUsage, recoverQuota } from '../../../src/core/quota/billing-period.ts'
import { newQuota, PACK_SESSIONS, type QuotaState, sessionsLeft } from '../../../src/core/quota/quota.ts'
import type { ReportedUsage } from '../../../src/core/quota/reported-usage.ts'
import { HOUR, MINUTE, SECOND } from '../../../src/core/time.ts'
import { rounds } from '../../tier.ts'
import { NO_USAGE } from '../../warehouse/landed-pages.ts'

const INCLUDED = 1_000

/** Ways in which an answer reports the usage. */
type Report = 'honest' | 'stale' | 'earlier-count' | 'exhausted' | 'absent' | 'keyless' | 'absurd' | 'contradicting'

interface Truth {
  key: string
  used: number
  before: number
}

const honest = ({ key, used }: Truth, billed: number): ReportedUsage => ({
  ...NO_USAGE,
  periodKey: key,
  billableUsedThisRequest: billed,
  billableUsedThisPeriod: used,
  includedQuota: INCLUDED,
  billableRemainingThisPeriod: Math.max(0, INCLUDED - used),
})

function reported(truth: Truth, report: Report, billed: number): ReportedUsage | null {
  const right = honest(truth, billed)
  const own = { ...NO_USAGE, billableUsedThisRequest: billed }
  switch (report) {
    case 'honest':
      return right
    case 'stale':
      return { ...right, periodKey: 'last month', billableUsedThisPeriod: 3, billableRemainingThisPeriod: INCLUDED - 3 }
    case 'earlier-count':
      return honest({ ...truth, used: truth.before }, billed)
    case 'exhausted':
      return { ...right, billableUsedThisPeriod: INCLUDED, billableRemainingThisPeriod: 0 }
    case 'absent':
      return own
    case 'keyless':
      return { ...right, periodKey: null }
    case 'absurd':
      return { ...own, periodKey: truth.key, includedQuota: 1e11 }
    case 'contradicting':
      return { ...right, billableUsedThisPeriod: 0 }
  }
}

type Step =
  | { do: 'export'; report: Report; share: number }
  | { do: 'restart'; lost: number }
  | { do: 'wait'; ms: number }

const WRONG: readonly Report[] = ['stale', 'earlier-count', 'exhausted', 'absent', 'keyless', 'absurd', 'contradicting']
const exporting = (report: fc.Arbitrary<Report>): fc.Arbitrary<Step> =>
  fc.record({ do: fc.constant('export' as const), report, share: fc.constantFrom(0, 0.3, 1) })
const between: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('restart' as const), lost: fc.nat(1) }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(SECOND, 20 * MINUTE, 2 * HOUR) }),
)

/** Steps with at least two honest answers between two wrong ones. */
const seldomWrong: fc.Arbitrary<Step[]> = fc
  .array(
    fc.tuple(
      exporting(fc.constant('honest')),
      exporting(fc.constant('honest')),
      between,
      exporting(fc.constantFrom(...WRONG)),
      between,
    ),
    { minLength: 3, maxLength: 25 },
  )
  .map(parts => parts.flat())
const anything: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof({ weight: 6, arbitrary: exporting(fc.constantFrom('honest', ...WRONG)) }, { weight: 1, arbitrary: between }),
  { minLength: 20, maxLength: 120 },
)

/** A client of that vendor: its governor, its lease log, and the answers of its landed pages. */
class Client {
  nowMs = 1_750_000_000_000
  truth: Truth = { key: 'this month', used: 0, before: 0 }
  probes: number[] = []
  private state: GovernorState = newGovernor()
  private log: LeaseEntry[] = []
  private ids = 0
  /** Honest answers since the last wrong one. With `atLeast`, that many occur between two wrong ones. */
  private honestAnswers = Number.POSITIVE_INFINITY
  private readonly atLeast: number

  constructor(atLeast: number) {
    this.atLeast = atLeast
  }

  perform(step: Step): void {
    if (step.do === 'wait') this.nowMs += step.ms
    else if (step.do === 'restart') this.restart(step.lost)
    else this.request(step)
  }

  /** A kill loses the last entries of the log; their pages have landed, and planning adds their answers (`prepare.ts`). */
  private restart(lost: number): void {
    const recent = this.log.filter(entry => entry.kind === 'request' || entry.atMs > this.nowMs - HOUR)
    const kept = lost === 0 ? recent : recent.filter(entry => entry.kind !== 'end' || entry !== recent.at(-1))
    const { key, used } = this.truth
    const reports = kept.filter(entry => entry.kind === 'request').length
    const loaded = {
      reports,
      ownSessions: used,
      certainSessions: used,
      includedSessions: INCLUDED,
      overageSessions: 0,
      overagePacks: 0,
      sinceMs: 0,
      reportedAtMs: this.nowMs,
    }
    const quota = reports > 20 ? recoverQuota([{ ...loaded, key, usedSessions: used }]) : newQuota()
    this.state = recoverGovernor({}, kept, { nowMs: this.nowMs, holdersDead: true, quota })
  }

  private request({ report: drawn, share }: Extract<Step, { do: 'export' }>): void {
    const asked = { lease: `l${++this.ids}`, agentId: 'a', kind: 'head' as const, wants: 1 }
    const [state, decision] = requestLease(this.state, asked, this.nowMs)
    this.state = state
    if (decision.kind !== 'grant') return
    const { lease, kind, requests, sessions, pageSessions, deadlineMs } = decision.grant
    const isProbe = kind === 'probe'
    if (isProbe) this.probes.push(this.nowMs)
    const granted = { lease, agentId: 'a', requests, sessions, pageSessions, deadlineMs, atMs: this.nowMs }
    this.log.push({ kind: 'lease', window: isProbe ? 'probe' : 'w', ...granted })
    const billed = Math.round(pageSessions * share)
    const { used } = this.truth
    this.truth = { ...this.truth, used: used + billed, before: used }
    const report = this.honestAnswers < this.atLeast ? 'honest' : drawn
    this.honestAnswers = report === 'honest' ? this.honestAnswers + 1 : 0
    const sentAtMs = this.nowMs
    this.nowMs += 30
    const answer: Answer = {
      sentAtMs,
      receivedAtMs: this.nowMs,
      status: 200,
      returned: billed,
      billed,
      usage: reported(this.truth, report, billed),
      rateLimit: null,
      retryAfterMs: null,
      ...(isProbe && { isProbe }),
    }
    this.state = govern(this.state, { kind: 'answered', lease, answer })
    this.log.push({ kind: 'request', lease, agentId: 'a', error: null, ...answer })
    this.state = govern(this.state, { kind: 'ended', lease })
    this.log.push({ kind: 'end', lease, atMs: this.nowMs })
  }
}

describe('a vendor whose every third answer at most is wrong', () => {
  it('is never sent a request beyond the quota, whatever is wrong, and wherever the client is killed', () => {
    fc.assert(
      fc.property(seldomWrong, steps => {
        const client = new Client(2)
        for (const step of steps) {
          client.perform(step)
          expect(client.truth.used).toBeLessThanOrEqual(INCLUDED)
        }
      }),
      { numRuns: rounds('FAULT_RUNS', { usual: 60, deep: 3000 }) },
    )
  })
})

describe('a vendor whose answers are wrong in any order', () => {
  it('is sent at most nine probes an hour, and is never used a pack beyond the quota', () => {
    fc.assert(
      fc.property(anything, steps => {
        const client = new Client(0)
        for (const step of steps) client.perform(step)
        for (const atMs of client.probes)
          expect(client.probes.filter(other => other >= atMs && other < atMs + HOUR).length).toBeLessThanOrEqual(9)
        expect(client.truth.used).toBeLessThanOrEqual(INCLUDED + PACK_SESSIONS)
      }),
      { numRuns: rounds('FAULT_RUNS', { usual: 60, deep: 3000 }) },
    )
  })

  it('leaves no more than its newest answer says, nor than earlier ones that nothing has contradicted', () => {
    const said = fc.record({ isOther: fc.boolean(), used: fc.nat(INCLUDED), isProbe: fc.boolean() })
    fc.assert(
      fc.property(fc.array(said, { minLength: 1, maxLength: 30 }), answers => {
        const known = Array.from({ length: 3 }, () => ({ isOther: false, used: 0, isProbe: false }))
        let quota: QuotaState = newQuota()
        for (const [index, { isOther, used, isProbe }] of [...known, ...answers].entries()) {
          const sentAtMs = 1_000 + 20 * index
          // No period is named by mistake so often that a single answer no longer counts.
          const usage = honest({ key: isOther ? `other ${index}` : 'this', used, before: 0 }, 0)
          quota = applyUsage(quota, usage, { sentAtMs, receivedAtMs: sentAtMs + 10, billed: 0, isProbe })
          const left = sessionsLeft(quota, 0)
          expect(left).toBeLessThanOrEqual(INCLUDED - used)
          const before = answers[index - known.length - 1]
          if (before && !isProbe) expect(left).toBeLessThanOrEqual(INCLUDED - before.used)
        }
      }),
      { numRuns: rounds('FAULT_RUNS', { usual: 100, deep: 5000 }) },
    )
  })

  const answer = fc.record({
    key: fc.constantFrom('last', 'this', 'next'),
    used: fc.nat(INCLUDED),
    isProbe: fc.boolean(),
    gapMs: fc.constantFrom(-15, 0, 1, 20),
  })

  it('is followed into the running period after six honest answers, which leave no more than is left', () => {
    fc.assert(
      fc.property(fc.array(answer, { maxLength: 60 }), fc.nat(400), fc.boolean(), (answers, used, isProbe) => {
        let nowMs = 1_000
        let quota: QuotaState = newQuota()
        for (const { key, used: said, isProbe: probe, gapMs } of answers) {
          nowMs += gapMs
          const usage = honest({ key, used: said, before: 0 }, 0)
          quota = applyUsage(quota, usage, { sentAtMs: nowMs, receivedAtMs: nowMs + 10, billed: 0, isProbe: probe })
        }
        nowMs += 100
        for (let index = 0; index < 6; index++, nowMs += 20) {
          const usage = honest({ key: 'this', used: used + index, before: 0 }, 0)
          quota = applyUsage(quota, usage, { sentAtMs: nowMs, receivedAtMs: nowMs + 10, billed: 0, isProbe })
        }
        expect(quota).toMatchObject({ key: 'this', rivals: [] })
        expect(sessionsLeft(quota, 0)).toBeLessThanOrEqual(INCLUDED - used - 5)
      }),
      { numRuns: rounds('FAULT_RUNS', { usual: 100, deep: 5000 }) },
    )
  })
})
