// Draws a history from a seed: a world of a few agents, behaviours that combine, and some days of syncs.
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import type { Behaviour } from './behaviours.ts'
import { type Draws, drawsOf } from './draws.ts'
import type { AgentPlan, Asked, History, Step, VendorPlan } from './history.ts'

/** Ids that are keys of every object, and one that a URL has to encode. */
const ODD_IDS = ['constructor', '__proto__', 'toString', 'ä/ö %']

function drawAgents(draws: Draws): AgentPlan[] {
  const isMany = draws.chance(0.06)
  const count = isMany ? draws.between(40, 80) : draws.between(1, 4)
  return Array.from({ length: count }, (_, index) => {
    const isIdle = isMany && index > 3
    const id = !isMany && draws.chance(0.02) ? draws.pick(ODD_IDS) : `agent-${index}`
    return {
      id,
      history: isIdle ? 0 : draws.pick([0, 3, 30, 100, 200, 300]),
      historyDays: draws.pick([1, 5, 30, 90]),
      perDay: isIdle ? 0 : draws.pick([0, 2, 10, 40]),
      ...(draws.chance(0.3) && { silent: draws.pick([0.1, 0.5, 0.95]) }),
      ...(draws.chance(0.3) && { goesOn: 0.2 }),
      ...(draws.chance(0.1) && { longest: 200 }),
      ...(draws.chance(0.2) && { vanishing: 0.1 }),
    }
  }).filter(({ id }, index, all) => all.findIndex(other => other.id === id) === index)
}

const drawVendor = (draws: Draws): VendorPlan => ({
  ...(draws.chance(0.45) && { includedSessions: draws.pick([120, 300, 700, 1_500, 5_000]) }),
  ...(draws.chance(0.3) && { requestsPerHour: draws.pick([60, 150, 400]) }),
  ...(draws.chance(0.3) && { periodAgeDays: draws.pick([27, 29, 29.9]) }),
  ...(draws.chance(0.2) && { usedElsewhere: draws.pick([100, 250]) }),
  ...(draws.chance(0.4) && { ts: 'activity' as const }),
  ...(draws.chance(0.4) && { unit: 's' as const }),
})

/** Kinds that affect a time range of an agent's answers, with their parameters. */
type Form = (draws: Draws, agent: AgentPlan) => Behaviour

/** Returns ids of some conversations in the agent's history, as `history.ts` names them. */
const someRecords = (draws: Draws, { id, history }: AgentPlan): string[] =>
  Array.from({ length: draws.between(1, 3) }, () => `${id.slice(0, 3)}${draws.between(0, Math.max(0, history - 1))}`)

const plain =
  (kind: Behaviour['kind']): Form =>
  () => ({ kind })

/** Returns a burst: a few answers, or a share of them. */
const sometimes = (draws: Draws): Pick<Behaviour, 'times' | 'share'> =>
  draws.pick([{ times: 1 }, { times: 2 }, { times: 3 }, { share: 0.1 }, {}])

const OF_PAGES: Form[] = [
  plain('cursor-repeats'),
  plain('cursor-ignored'),
  plain('cursor-is-offset'),
  draws => ({ kind: 'records-leave', value: draws.between(1, 5), times: draws.between(1, 2) }),
  plain('cursor-refused'),
  plain('range-ignored'),
  plain('sort-ignored'),
  draws => ({ kind: 'limit-ignored', value: draws.pick([5, 20, 100]) }),
  plain('last-page-repeats'),
  draws => ({ kind: 'page-repeats', ...sometimes(draws) }),
  draws => ({ kind: 'page-shifted', value: draws.pick([-20, -1, 1]), ...sometimes(draws) }),
  draws => ({ kind: 'page-empty', ...sometimes(draws) }),
  plain('skips-without-end'),
  draws => ({ kind: 'says-last', ...sometimes(draws) }),
  plain('mirror-stalls'),
  plain('mirror-empty'),
  (draws, agent) => ({
    kind: 'fails',
    value: draws.pick([500, 502]),
    records: someRecords(draws, agent),
    ...(draws.chance(0.5) && { word: 'billed' }),
  }),
  draws => ({ kind: 'fails', value: draws.pick([500, 503]), ...sometimes(draws) }),
  draws => ({ kind: 'slow', value: draws.pick([10, 25, 50]) }),
  draws => ({ kind: 'lost', ...sometimes(draws) }),
  draws => ({ kind: 'cut', ...sometimes(draws) }),
  draws => ({
    kind: 'unreadable',
    word: draws.pick(['data-null', 'success-false', 'not-json', 'half']),
    ...sometimes(draws),
  }),
  (draws, agent) => ({
    kind: 'unreadable',
    word: draws.pick(['data-null', 'success-false', 'not-json', 'half']),
    records: someRecords(draws, agent),
  }),
  draws => ({ kind: 'refused', value: draws.pick([401, 402, 403, 404]) }),
  draws => ({
    kind: 'limited',
    ...(draws.chance(0.5) && { word: draws.pick(['1', '30', '600']) }),
    ...sometimes(draws),
  }),
  draws => ({ kind: 'record-times', ...draws.pick([{}, { value: -HOUR }, { value: HOUR }, { value: 400 * DAY }]) }),
  draws => ({ kind: 'ids', word: draws.pick(['missing', 'doubled', 'number', 'foreign']), ...sometimes(draws) }),
  plain('cached'),
]

const OF_ACCOUNT: Form[] = [
  plain('usage-absent'),
  plain('usage-frozen'),
  draws => ({ kind: 'usage-of-another-period', value: draws.pick([0, 40, 600]), ...sometimes(draws) }),
  draws => ({ kind: 'usage-exhausted', ...sometimes(draws) }),
  draws => ({ kind: 'usage-contradicts', value: draws.pick([10, 3_000]), ...sometimes(draws) }),
  plain('rate-limit-absent'),
  draws => ({ kind: 'date', ...draws.pick([{}, { value: DAY }, { value: -DAY }, { value: 10 * MINUTE }]) }),
  draws => ({ kind: 'agents-short', value: draws.between(0, 2) }),
  plain('agents-doubled'),
  plain('agents-unpaged'),
  draws => ({ kind: 'unreachable', ...sometimes(draws) }),
  () => ({ kind: 'fails', value: 503 }),
  draws => ({ kind: 'lost', share: draws.pick([0.02, 0.2]) }),
  plain('cached'),
]

/** Draws the time span in which the behaviour is active. */
function drawSpan(draws: Draws, lastMs: number): Pick<Behaviour, 'fromMs' | 'untilMs'> {
  const fromMs = draws.pick([0, 0, MINUTE, draws.between(0, lastMs)])
  const lengthMs = draws.pick([10 * MINUTE, 5 * HOUR, 2 * DAY, null])
  return { fromMs, ...(lengthMs !== null && { untilMs: fromMs + lengthMs }) }
}

function drawBehaviours(draws: Draws, agents: readonly AgentPlan[], lastMs: number): Behaviour[] {
  const count = draws.pick([0, 1, 1, 1, 2, 2, 3])
  const drawn = Array.from({ length: count }, () => {
    const agent = draws.pick(agents)
    const isOfAgent = draws.chance(0.65)
    const behaviour = draws.pick(isOfAgent ? OF_PAGES : OF_ACCOUNT)(draws, agent)
    return { ...behaviour, ...(isOfAgent && { agentId: agent.id }), ...drawSpan(draws, lastMs) }
  })
  // Deleted records shift pages only if cursors are offsets.
  return drawn.flatMap(one => {
    const { times: _, value: __, ...span } = one
    return one.kind === 'records-leave' ? [one, { ...span, kind: 'cursor-is-offset' as const }] : [one]
  })
}

function drawAsked(draws: Draws): Asked {
  return {
    ...(draws.chance(0.08) && { maxRequests: draws.pick([5, 30]) }),
    ...(draws.chance(0.08) && { maxSessions: draws.pick([20, 100]) }),
    ...(draws.chance(0.1) && { wait: false }),
    ...(draws.chance(0.06) && { refresh: { ageMs: 3 * DAY } }),
  }
}

function drawSteps(draws: Draws): Step[] {
  const steps: Step[] = []
  const count = draws.between(3, 8)
  for (let index = 0; index < count; index++) {
    const watch = draws.chance(0.3) ? { watchMs: 15 * MINUTE } : {}
    const kill = draws.chance(0.1) ? { killAt: draws.between(1, 120) } : {}
    steps.push({ sync: drawAsked(draws), ...watch, ...kill })
    if (draws.chance(0.05)) steps.push({ clockAheadMs: draws.pick([-2 * HOUR, 10 * MINUTE, 3 * HOUR, DAY, 0]) })
    steps.push({ waitMs: draws.pick([MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, DAY]) })
  }
  return steps
}

export function drawHistory(seed: number): History {
  const draws = drawsOf(seed)
  const agents = drawAgents(draws)
  const steps = drawSteps(draws)
  const lastMs = steps.reduce((sum, step) => ('waitMs' in step ? sum + step.waitMs : sum), 0)
  return {
    seed,
    agents,
    vendor: drawVendor(draws),
    ...(draws.chance(0.6) && { maxPage: draws.pick([10, 20, 50]) }),
    ...(draws.chance(0.2) && { headReserve: 0 }),
    behaviours: drawBehaviours(draws, agents, lastMs),
    steps,
  }
}
