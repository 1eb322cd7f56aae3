import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../../src/core/time.ts'
import { rounds } from '../../tier.ts'
import type { GovernorModel, ModelOptions } from '../governor/governor-model.ts'
import { greedySteps, REPORTED_ONCE, runModel, type Step } from '../governor/governor-steps.ts'

const lag = fc.oneof(
  fc.record({ requests: fc.integer({ min: 1, max: 30 }), ms: fc.constant(0) }),
  fc.record({ requests: fc.constant(0), ms: fc.constantFrom(1_000, 60_000, 600_000, 3_000_000) }),
)

const late: fc.Arbitrary<ModelOptions> = fc
  .record({ includedSessions: fc.constantFrom(60, 300, 2_000), lag, packs: fc.constantFrom(0, 1) })
  .map(({ includedSessions, lag: drawn, packs }) => ({
    governor: { requestsPerHour: 10_000, allowedPacks: packs },
    includedSessions,
    requestsPerHour: 10_000,
    lag: drawn,
  }))

/** Returns the same steps without lost workers or answers, because only the vendor knows what those billed. */
const answeredOnly = (steps: readonly Step[]): Step[] =>
  steps
    .filter(one => one.do !== 'lose')
    .map(one => (one.do === 'request' ? { ...one, fate: { ...one.fate, kind: 'answered' as const } } : one))
const answered = greedySteps.map(answeredOnly)

const elsewhere: fc.Arbitrary<Step[]> = fc
  .constantFrom(1, 10, 60)
  .map(sessions => [{ do: 'elsewhere' as const, sessions }])

/** Exports until nothing more is granted, not even after the next three hourly probes. */
function exhaust(model: GovernorModel): void {
  while (model.workers.length > 0) model.end(0)
  let refused = 0
  for (let asked = 0; asked < 3_000; asked++) {
    const decision = model.ask('head', 10)
    if (decision.kind === 'refuse' && ++refused > 3) return
    if (decision.kind === 'refuse') model.nowMs += HOUR
    else if (decision.kind === 'wait') model.nowMs = Math.max(model.nowMs + 1, decision.untilMs)
    else {
      while (
        model.request(0, { kind: 'answered', share: decision.grant.kind === 'probe' ? 0 : 0.5, latencyMs: 700 })
      ) {}
      model.end(0)
    }
  }
  throw new Error('never refused')
}

describe('usage that is reported late', () => {
  it('costs no session beyond the allowed ones, however late it is', () => {
    fc.assert(
      fc.property(late, answered, (given, done) => {
        const model = runModel(given, [...REPORTED_ONCE, ...done], it => it.endOverdue())
        exhaust(model)
        expect(model.worst.overage).toBeLessThanOrEqual(0)
      }),
      { numRuns: rounds('FAULT_RUNS', { usual: 50, deep: 2000 }) },
    )
  })

  it('causes no overage of our own while others spend, and none after their usage is reported', () => {
    const shared = fc.array(
      fc.oneof(
        { weight: 4, arbitrary: greedySteps.map(steps => steps.slice(0, 6)) },
        { weight: 1, arbitrary: elsewhere },
      ),
      { minLength: 5, maxLength: 15 },
    )
    fc.assert(
      fc.property(late, shared, (given, parts) => {
        const model = runModel(given, [...REPORTED_ONCE, ...answeredOnly(parts.flat())], it => it.endOverdue())
        expect(model.worst.ownOverage).toBeLessThanOrEqual(0)
        while (model.workers.length > 0) model.end(0)
        model.nowMs += 2 * HOUR
        for (let probes = 0; probes <= given.lag!.requests; probes++) {
          model.ask('probe', 1)
          model.request(0, { kind: 'answered', share: 0, latencyMs: 700 })
          model.end(0)
        }
        const allowed = given.includedSessions + model.state.options.allowedPacks * 1_000
        const before = Math.max(allowed, model.period.used)
        exhaust(model)
        expect(model.period.used).toBeLessThanOrEqual(before)
      }),
      { numRuns: rounds('FAULT_RUNS', { usual: 50, deep: 2000 }) },
    )
  })
})
