import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type GovernorState, requestLease } from '../../../src/core/governor/governor.ts'
import { pageSessions, surpriseReserve } from '../../../src/core/governor/page-size.ts'
import { MINUTE } from '../../../src/core/time.ts'
import { rounds } from '../../tier.ts'
import { greedyOptions, greedySteps, kinds, options, REPORTED_ONCE, runModel, steps } from './governor-steps.ts'

const RUNS = { numRuns: rounds('GOVERNOR_RUNS', { usual: 100, deep: 2_000 }) }

describe('a governor under any sequence of events', () => {
  it('never allows more requests within an hour than the vendor does', () => {
    fc.assert(
      fc.property(options, steps, (given, done) => {
        expect(runModel(given, done).worst.requestsInHour).toBeLessThanOrEqual(given.requestsPerHour)
      }),
      RUNS,
    )
  })

  it('never exceeds the allowed sessions while no page bills more than the surprise reserve beyond its hold', () => {
    fc.assert(
      fc.property(options, steps, (given, done) => {
        expect(runModel(given, done).worst.overage).toBeLessThanOrEqual(0)
      }),
      RUNS,
    )
    fc.assert(
      fc.property(greedyOptions, greedySteps, (given, done) => {
        expect(runModel(given, [...REPORTED_ONCE, ...done]).worst.overage).toBeLessThanOrEqual(0)
      }),
      { numRuns: rounds('GOVERNOR_RUNS', { usual: 120, deep: 4_000 }) },
    )
  })

  it('leases no session of the reserve for new conversations to history', () => {
    fc.assert(
      fc.property(options, steps, (given, done) => {
        runModel(given, done, (model, one) => {
          const decision = model.decisions.at(-1)
          if (one.do !== 'ask' || decision?.kind !== 'grant' || !['tail', 'full'].includes(decision.grant.kind)) return
          const held = model.state.leases.reduce((sum, lease) => sum + Math.max(0, lease.sessions - lease.billed), 0)
          const { quota, options: chosen } = model.state
          const allowed = quota.includedSessions + chosen.allowedPacks * 1_000
          const reserve = quota.includedSessions * chosen.headReserveShare!
          expect(allowed - quota.usedSessions - held).toBeGreaterThanOrEqual(
            Math.min(quota.includedSessions / 2, reserve),
          )
        })
      }),
      RUNS,
    )
  })

  it('never exceeds the request limit of a run, nor a limit of 100 sessions or more while no page bills more than four beyond its hold', () => {
    const limited = fc.record({
      given: options,
      maxRequests: fc.nat(12),
      maxSessions: fc.integer({ min: 100, max: 300 }),
    })
    const safe = steps.map(done => done.filter(one => one.do !== 'lose'))
    fc.assert(
      fc.property(limited, safe, ({ given, maxRequests, maxSessions }, done) => {
        const governor = { ...given.governor, maxRequests, maxSessions }
        const model = runModel({ ...given, governor }, done, it => it.endOverdue())
        expect(model.made.requests).toBeLessThanOrEqual(maxRequests)
        const seen = done.every(one => one.do !== 'request' || one.fate.kind !== 'lost-after')
        if (seen) expect(model.made.sessions).toBeLessThanOrEqual(maxSessions)
      }),
      RUNS,
    )
  })

  it('allows at most one request a minute after a failure, until an answer arrives', () => {
    fc.assert(
      fc.property(options, steps, (given, done) => {
        let before = 'open'
        let cautious = new Set<string>()
        runModel(given, done, (model, one) => {
          const decision = model.decisions.at(-1)
          if (model.state.mode === 'open') cautious = new Set()
          else if (one.do === 'ask' && before !== 'open' && decision?.kind === 'grant')
            cautious.add(decision.grant.lease)
          before = model.state.mode
          const times = model.requests.filter(made => cautious.has(made.lease)).map(made => made.atMs)
          for (const [index, atMs] of times.slice(1).entries())
            expect(atMs - times[index]!).toBeGreaterThanOrEqual(MINUTE)
        })
      }),
      RUNS,
    )
  })

  it('eventually grants again, unless the quota or the limit of the run is exhausted', () => {
    fc.assert(
      fc.property(options, steps, (given, done) => {
        const model = runModel(given, done)
        while (model.workers.length > 0) model.end(0)
        let refused = 0
        for (let asked = 0; asked < 500; asked++) {
          const decision = model.ask('head', 1)
          if (decision.kind === 'grant' && decision.grant.kind !== 'probe') return
          if (decision.kind === 'grant') {
            model.request(0, { kind: 'answered', share: 0, latencyMs: 5 })
            model.end(0)
          } else if (decision.kind === 'wait') {
            expect(decision.untilMs).toBeGreaterThan(model.nowMs)
            model.nowMs = decision.untilMs
          } else if (++refused < 4) {
            // The next probes may show that more sessions are left.
            model.nowMs += 3_600_000
          } else {
            expect(decision.reason).toBe('period')
            const { quota } = model.state
            const allowed = given.includedSessions + model.state.options.allowedPacks * 1_000
            const needed = pageSessions(model.state, 'a', 1)
            expect(allowed - quota.usedSessions - surpriseReserve(given.includedSessions)).toBeLessThan(needed)
            return
          }
        }
        throw new Error(
          `nothing was granted in 500 turns: ${JSON.stringify(model.decisions.slice(-8))} ${JSON.stringify(model.state)}`,
        )
      }),
      RUNS,
    )
  })

  it('decides the same after its state has been through JSON', () => {
    fc.assert(
      fc.property(options, steps, kinds, (given, done, kind) => {
        const model = runModel(given, done)
        const copy = JSON.parse(JSON.stringify(model.state)) as GovernorState
        expect(copy).toEqual(model.state)
        const asked = { lease: 'x', agentId: 'a', kind, wants: 3 }
        expect(requestLease(copy, asked, model.nowMs)).toEqual(requestLease(model.state, asked, model.nowMs))
      }),
      RUNS,
    )
  })
})
