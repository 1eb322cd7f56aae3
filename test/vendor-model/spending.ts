// The invariant Spends: nothing is billed twice beyond four full pages per misbehaving place and the budgets for
// repetitions, each request fits the lowest reported remainder, and there is no overage.
import { DAY } from '../../src/core/time.ts'
import type { BehaviourKind } from './behaviours.ts'
import { exportsOf, type World } from './history.ts'
import type { Served } from './model-transport.ts'
import { answersKept, behavedBadly, keyOf } from './truth.ts'

/** Included sessions if no answer names a number (section 8). */
const DOCUMENTED_SESSIONS = 50_000
const PACK_SESSIONS = 1_000

/** Failures of single answers: each place with such a failure may cost pages. Any other behaviour has one place per agent. */
const AT_A_PLACE: ReadonlySet<BehaviourKind> = new Set(['lost', 'cut', 'unreadable', 'slow', 'fails'])
const PAGES_PER_PLACE = 4
/** Shares of the quota in a period: of re-reads, and of repeated requests about gaps. */
const REREAD_SHARE = 0.02
export const GAP_SHARE = 0.01

/** Returns the places at which the vendor misbehaved, as far as that changes which conversations arrive. */
function placesOf(requests: readonly Served[]): Set<string> {
  return new Set(
    requests.flatMap(({ agentId, records, spoilt }) =>
      spoilt.map(kind => `${kind} ${agentId} ${AT_A_PLACE.has(kind) ? (records[0]?.id ?? '') : ''}`),
    ),
  )
}

/** Returns the sessions of conversations that had already been billed: by re-reads, and by all other windows. */
function repetitionsOf(world: World): { rereads: number; others: number } {
  const keyOfRequest = (agentId: string | null, atMs: number, sort: unknown, toMs: unknown, cursor: unknown) =>
    [agentId, atMs, sort, toMs, cursor].join(' ')
  const kinds = new Map(
    [...world.store.pages.values()].map(({ head: { place, sentAtMs, request, facts } }) => {
      const { sort, toTs, cursor } = request.query
      return [keyOfRequest(place.agentId, sentAtMs, sort, Number(toTs), cursor), facts?.window.kind]
    }),
  )
  const billed = new Set<string>()
  const again = { rereads: 0, others: 0 }
  for (const { agentId, records, billed: sessions, query, sentAtMs } of exportsOf(world)) {
    if (sessions === 0) continue
    const versions = records.map(({ id, version }) => ({ key: `${keyOf(agentId, id)} ${version}`, version }))
    // The version of a conversation is its number of sessions.
    const known = versions.reduce((sum, { key, version }) => sum + (billed.has(key) ? Math.max(1, version) : 0), 0)
    for (const { key } of versions) billed.add(key)
    // Conversations that are requested by id were named by a person or are a sample.
    if (query.ids !== null || known === 0) continue
    const kind = kinds.get(keyOfRequest(agentId, sentAtMs, query.sort, query.toMs, query.cursor ?? undefined))
    again[kind === 'reread' ? 'rereads' : 'others'] += known
  }
  return again
}

function* billedAgain(world: World): Generator<string> {
  const requests = exportsOf(world)
  const { includedSessions, periodDays, startMs } = world.vendor.options
  const fullPage = Math.max(0, ...requests.map(one => one.billed))
  const kills = world.syncs.filter(({ isKilled, isRunaway }) => isKilled || isRunaway).length
  // Without any usage report, nobody knows that the quota is smaller than documented.
  const included = behavedBadly(world).has('usage-absent') ? DOCUMENTED_SESSIONS : includedSessions
  const inPeriods = included * (Math.ceil((world.clock.now() - startMs) / (periodDays * DAY)) + 1)
  const places = placesOf(requests)
  const hasGaps = world.syncs.some(({ report }) => (report?.gaps ?? []).length > 0)
  const { rereads, others } = repetitionsOf(world)
  // Each restart, as at another page size, reads one second again, which may contain the conversation with the most sessions.
  const restarts = [...world.store.pages.values()].filter(
    ({ head: { place } }) => place.generation > 1 && place.sequence === 1,
  )
  const returned = requests.reduce((sum, { records }) => sum + records.length, 0)
  const mean = requests.reduce((sum, one) => sum + one.billed, 0) / Math.max(1, returned)
  const dearest = Math.max(0, ...requests.map(one => one.dearest))
  const edges = (10 + 2 * world.history.agents.length + restarts.length) * Math.max(1, mean) + dearest
  const allowed = (places.size * PAGES_PER_PLACE + kills * 4) * fullPage + (hasGaps ? GAP_SHARE * inPeriods : 0) + edges
  if (others > allowed)
    yield `${Math.round(others)} sessions were billed again; ${places.size} misbehaving places and ${kills} kills allow ${Math.round(allowed)}`
  if (rereads > REREAD_SHARE * inPeriods + fullPage / 2)
    yield `${Math.round(rereads)} sessions were billed again by re-reads; their budget is ${Math.round(REREAD_SHARE * inPeriods)}`
}

/** Returns the sessions left by the lowest number in an answer; negative for overage, null if it says nothing. */
function statedLeft(usage: NonNullable<Served['usage']>, allowedPacks: number): number | null {
  const number = (name: string) => (typeof usage[name] === 'number' ? (usage[name] as number) : null)
  const included = number('includedQuota') ?? DOCUMENTED_SESSIONS
  const [used, remaining] = [number('billableUsedThisPeriod'), number('billableRemainingThisPeriod')]
  const packs = number('overagePacksCharged') ?? 0
  const allowed = allowedPacks * PACK_SESSIONS
  const overage = number('overageUsedThisPeriod') ?? 0
  const left = [
    ...(used === null ? [] : [included + allowed - used]),
    ...(remaining === null ? [] : [remaining + allowed - overage]),
    ...(packs > allowedPacks ? [0] : []),
  ]
  return left.length === 0 ? null : Math.min(...left)
}

/** The limit that an answer sets, including everything billed before it. */
interface Stated {
  number: number
  atMs: number
  receivedAtMs: number
  key: unknown
  limit: number
}

/**
 * Adds an answer to those that count. A probe contradicts all before it; so do two answers that name another period, if
 * the second was requested after the first arrived.
 */
function standing(before: readonly Stated[], answer: Stated, isProbe: boolean): Stated[] {
  if (isProbe) return [answer]
  const all = [...before, answer]
  const foreign = all.findLastIndex(({ key }) => key !== answer.key)
  const agreeing = all.slice(foreign + 1)
  return foreign >= 0 && agreeing[0]!.receivedAtMs <= answer.atMs ? agreeing : all
}

function* beyondWhatIsLeft(world: World): Generator<string> {
  const requests = exportsOf(world)
  // An answer of the same millisecond does not count as received, unless it is a probe's: the lease after a probe follows at once.
  const kept = new Set(world.syncs.flatMap(sync => answersKept(world, sync)))
  const events = requests
    .flatMap(request => [
      { atMs: request.atMs, request, isAnswer: false, order: 1 },
      { atMs: request.receivedAtMs, request, isAnswer: true, order: request.isProbe ? 0 : 2 },
    ])
    .filter(({ isAnswer, request }) => !isAnswer || kept.has(request))
    .sort((a, b) => a.atMs - b.atMs || a.order - b.order || a.request.number - b.request.number)
  /** Sessions billed at each request's answer, and those that we can know: not what a request in flight costs beyond its number. */
  const billedBy = new Map<number, number>()
  let [billed, known] = [0, 0]
  let stated: Stated[] = []
  for (const { request, isAnswer } of events) {
    const { number, sync, usage, atMs, receivedAtMs, isProbe, query } = request
    const packs = world.syncs[sync]?.asked.allowedPacks ?? 0
    const asked = query.ids?.length ?? query.limit
    if (isAnswer) {
      known += Math.max(0, request.billed - asked)
      const left = usage === null ? null : statedLeft(usage, packs)
      if (usage === null || left === null || !billedBy.has(number)) continue
      const answer = { number, atMs, receivedAtMs, key: usage.periodKey, limit: left + billedBy.get(number)! }
      stated = standing(stated, answer, isProbe)
      continue
    }
    const unknown = DOCUMENTED_SESSIONS + packs * PACK_SESSIONS - world.vendor.options.usedElsewhere
    const left = Math.min(...(stated.length > 0 ? stated.map(({ limit }) => limit) : [unknown])) - known
    billed += request.billed
    known += Math.min(request.billed, asked)
    billedBy.set(number, billed)
    if (isProbe || asked <= left) continue
    yield `request ${number} (sync ${sync}) asks for ${asked} conversations when the most careful answer leaves ${left} sessions`
    return
  }
}

const LIES: (kind: BehaviourKind) => boolean = kind => kind.startsWith('usage-') || kind === 'cached'

/**
 * Returns the maximum that a page billed unexpectedly, which the reserve of a small quota does not cover: its conversations
 * had more sessions than any before of the agent. The last conversation of a period may have more sessions than are left.
 */
function mostUnforeseen(world: World): number {
  const most = new Map<string, number>()
  return exportsOf(world).reduce((unforeseen, { agentId, billed, dearest, records }) => {
    const known = most.get(agentId) ?? 1
    most.set(agentId, Math.max(known, dearest))
    return Math.max(unforeseen, dearest, billed - records.length * known)
  }, 0)
}

function* overage(world: World): Generator<string> {
  const { includedSessions, usedElsewhere } = world.vendor.options
  const packs = Math.max(0, ...world.syncs.map(({ asked }) => asked.allowedPacks ?? 0))
  const periods = new Map<string, number>()
  for (const { periodKey, sessions } of world.vendor.bills)
    periods.set(periodKey, (periods.get(periodKey) ?? (periodKey === 'period-0' ? usedElsewhere : 0)) + sessions)
  const unforeseen = mostUnforeseen(world)
  for (const [key, used] of periods) {
    const beyond = used - includedSessions - packs * PACK_SESSIONS
    if (beyond > unforeseen && ![...behavedBadly(world)].some(LIES)) yield `${beyond} sessions of overage in ${key}`
  }
}

/** Within two pages of a run's limit, a request must fit the limit if each conversation has the agent's maximum number of sessions so far. */
function* beyondTheLimit(world: World): Generator<string> {
  for (const { index, asked } of world.syncs) {
    const limit = asked.maxSessions ?? null
    if (limit === null) continue
    const requests = exportsOf(world).filter(({ sync }) => sync === index)
    const billed = requests.reduce((sum, one) => sum + one.billed, 0)
    const dearest = Math.max(1, ...requests.map(one => one.dearest))
    // At most one page of five, or one conversation in each loop, cost more than any before.
    if (billed > limit + 5 * dearest) yield `sync ${index} billed ${billed} sessions with a limit of ${limit}`
  }
}

export function* spending(world: World): Generator<string> {
  yield* billedAgain(world)
  yield* beyondWhatIsLeft(world)
  yield* overage(world)
  yield* beyondTheLimit(world)
}
