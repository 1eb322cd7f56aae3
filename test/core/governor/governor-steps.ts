// Random runs of the governor's model: actions of users, workers and the vendor in any order.
import fc from 'fast-check'
import type { Decision } from '../../../src/core/governor/governor.ts'
import type { WindowKind } from '../../../src/core/planning/windows.ts'
import { type Fate, GovernorModel, type ModelOptions } from './governor-model.ts'

export type Step =
  | { do: 'ask'; kind: WindowKind | 'probe'; wants: number }
  | { do: 'request'; worker: number; fate: Fate }
  | { do: 'end' | 'lose'; worker: number }
  | { do: 'wait'; ms: number }
  | { do: 'turn' | 'reset' }
  | { do: 'others'; requests: number }
  | { do: 'elsewhere'; sessions: number }

export const kinds: fc.Arbitrary<WindowKind | 'probe'> = fc.constantFrom('head', 'tail', 'full', 'selected', 'probe')
const fate: fc.Arbitrary<Fate> = fc.record({
  kind: fc.oneof(
    { weight: 8, arbitrary: fc.constant('answered' as const) },
    { weight: 2, arbitrary: fc.constantFrom('lost-after', 'lost-before', 'failed' as const) },
  ),
  share: fc.double({ min: 0, max: 1, noNaN: true }),
  latencyMs: fc.constantFrom(5, 900, 15_000, 59_000),
})

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('ask' as const), kind: kinds, wants: fc.integer({ min: 1, max: 10 }) }),
  },
  { weight: 10, arbitrary: fc.record({ do: fc.constant('request' as const), worker: fc.nat(9), fate }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('end' as const), worker: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('lose' as const), worker: fc.nat(9) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(1, 9_999, 61_000, 600_000, 3_600_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('turn', 'reset' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('others' as const), requests: fc.nat(20) }) },
)

export const options: fc.Arbitrary<ModelOptions> = fc
  .record({
    governor: fc.record({
      requestsPerHour: fc.constantFrom(1, 2, 7, 20),
      hourReserveShare: fc.constantFrom(0, 0.02, 0.5, 0.9),
      headReserveShare: fc.constantFrom(0, 0.1, 0.4),
      allowedPacks: fc.constantFrom(0, 1),
    }),
    includedSessions: fc.constantFrom(0, 30, 300, 2_000),
    requestsPerHour: fc.constantFrom(1, 2, 7, 20),
  })
  .map(drawn => ({ ...drawn, governor: { ...drawn.governor, requestsPerHour: drawn.requestsPerHour } }))

/** Options for runs in which all users export as much as possible, which soon uses up a small quota. */
export const greedyOptions: fc.Arbitrary<ModelOptions> = fc.constantFrom(20, 60, 300).map(includedSessions => ({
  governor: { requestsPerHour: 10_000 },
  includedSessions,
  requestsPerHour: 10_000,
}))
const greedyFate: fc.Arbitrary<Fate> = fc.record({
  kind: fc.constantFrom('answered', 'answered', 'lost-after' as const),
  share: fc.constantFrom(1, 1, 1, 0),
  latencyMs: fc.constant(5),
})
const greedyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('ask' as const),
      kind: fc.constantFrom('head', 'selected' as const),
      wants: fc.integer({ min: 1, max: 3 }),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('request' as const), worker: fc.nat(9), fate: greedyFate }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('end' as const), worker: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('lose' as const), worker: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(61_000, 4_300_000) }) },
)

/** Steps that obtain a first usage report; until then, the quota of the API document applies. */
export const REPORTED_ONCE: readonly Step[] = [
  { do: 'ask', kind: 'head', wants: 1 },
  { do: 'request', worker: 0, fate: { kind: 'answered', share: 0, latencyMs: 5 } },
  { do: 'end', worker: 0 },
]

export const steps = fc.array(step, { minLength: 20, maxLength: 150 })
export const greedySteps = fc.array(greedyStep, { minLength: 30, maxLength: 100 })

function perform(model: GovernorModel, one: Step): Decision | undefined {
  if (one.do === 'ask') return model.ask(one.kind, one.wants)
  if (one.do === 'request') model.request(one.worker, one.fate)
  else if (one.do === 'end') model.end(one.worker)
  else if (one.do === 'lose') model.lose(one.worker)
  else if (one.do === 'wait') model.nowMs += one.ms
  else if (one.do === 'turn') model.turnPeriod()
  else if (one.do === 'others') model.requestByOthers(one.requests)
  else if (one.do === 'elsewhere') model.spendElsewhere(one.sessions)
  else model.resetRateLimit()
  return undefined
}

export function runModel(
  given: ModelOptions,
  done: readonly Step[],
  each: (model: GovernorModel, one: Step) => void = () => {},
) {
  const model = new GovernorModel(given)
  for (const one of done) {
    perform(model, one)
    each(model, one)
  }
  return model
}
