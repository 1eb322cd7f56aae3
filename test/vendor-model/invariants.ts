// The invariants of a history: it ends, keeps, returns and reports; spending.ts has the others. Violations name what a
// user would see.

import { ConvohouseError } from '../../src/core/errors.ts'
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import type { Behaviour, BehaviourKind } from './behaviours.ts'
import { exportsOf, START_MS, type SyncOutcome, type World } from './history.ts'
import type { Served } from './model-transport.ts'
import { GAP_SHARE, spending } from './spending.ts'
import {
  answersKept,
  behavedBadly,
  isAffordable,
  keyOf,
  missingAfter,
  namesOf,
  newFromMs,
  requestsOf,
  sessionsOf,
} from './truth.ts'
import type { Conversation } from './vendor-model.ts'

interface Violation {
  invariant: 'ends' | 'spends' | 'keeps' | 'returns' | 'says'
  text: string
}

const isUnlimited = ({ asked }: SyncOutcome): boolean =>
  (asked.maxRequests ?? null) === null &&
  (asked.maxSessions ?? null) === null &&
  asked.wait !== false &&
  asked.untilMs === undefined &&
  asked.sinceMs === undefined &&
  (asked.agents ?? []).length === 0 &&
  (asked.mode ?? 'incremental') === 'incremental'

/** Maximum number of requests without anything new in a run: polls, probes, repetitions, a stretch of skipped conversations. */
const FRUITLESS = { base: 300, perAgent: 12 }
const PROBES_AN_HOUR = 20

/** Returns the maximum number of entries within one hour. */
function mostInAnHour(timesMs: readonly number[]): number {
  let from = 0
  return timesMs.reduce((most, atMs, index) => {
    while (timesMs[from]! <= atMs - HOUR) from += 1
    return Math.max(most, index - from + 1)
  }, 0)
}

/** Errors that a run may end with, because the vendor refused or did not answer it. */
const isVendorsError = (error: unknown): boolean =>
  error instanceof ConvohouseError && ['access', 'transient', 'vendor'].includes(error.kind)

function* ends(world: World): Generator<string> {
  const known = new Set<string>()
  for (const sync of world.syncs) {
    const requests = requestsOf(world, sync)
    if (sync.isRunaway) yield `sync ${sync.index} does not end: ${requests.length} requests`
    if (sync.error !== null && !isVendorsError(sync.error)) yield `sync ${sync.index} failed: ${String(sync.error)}`
    const fruitless = requests.filter(({ agentId, records }) => {
      const keys = records.map(({ id, version }) => `${keyOf(agentId, id)} ${version}`)
      const isNew = keys.some(key => !known.has(key))
      for (const key of keys) known.add(key)
      return !isNew
    })
    const allowed = FRUITLESS.base + FRUITLESS.perAgent * world.history.agents.length
    if (fruitless.length > allowed)
      yield `sync ${sync.index} sent ${fruitless.length} requests that brought nothing new`
    const probes = mostInAnHour(
      requests.filter(({ isProbe, status }) => isProbe && status === 200).map(({ atMs }) => atMs),
    )
    if (probes > PROBES_AN_HOUR) yield `sync ${sync.index} sent ${probes} probes in an hour`
  }
}

/** True if our clock is wrong at some time: new conversations then arrive later, and a warning says so. */
const areClocksApart = ({ history }: World): boolean => history.steps.some(step => 'clockAheadMs' in step)

/** Time within which new conversations of unaffected agents arrive, no matter what other agents do. */
const SOON_MS = 30 * MINUTE

/** Returns the agents that no behaviour has affected. */
function healthyAgents(world: World): Set<string> {
  const { agents, behaviours } = world.history
  if (behaviours.some(({ agentId }) => agentId === undefined)) return new Set()
  const touched = new Set(behaviours.map(({ agentId }) => agentId))
  return new Set(agents.map(({ id }) => id).filter(id => !touched.has(id)))
}

function* starves(world: World): Generator<string> {
  if (areClocksApart(world)) return
  const healthy = healthyAgents(world)
  const isAllWell = healthy.size === world.history.agents.length
  const newFrom = newFromMs(world)
  for (const sync of world.syncs) {
    if (sync.isKilled || !isUnlimited(sync) || world.syncs.slice(0, sync.index).some(({ isKilled }) => isKilled))
      continue
    const isFirst = sync.index === 0 || isAllWell
    const byMs = isFirst ? sync.endedMs : Math.min(sync.endedMs, sync.beganMs + SOON_MS)
    const missing = missingAfter(world, sync, byMs).filter(
      ({ agentId, createdMs }) => healthy.has(agentId) && (isFirst || createdMs > newFrom(agentId)),
    )
    const isPaid = isAffordable(world, missing, { atMs: sync.endedMs, isNew: !isFirst })
    const used = requestsOf(world, sync).length
    // Each agent has its part of the hour's requests that are reserved for polls, even if an earlier sync has used it.
    const usedBefore = exportsOf(world).filter(({ atMs }) => atMs > sync.beganMs - HOUR && atMs <= sync.beganMs).length
    if (usedBefore > 0.9 * world.vendor.options.requestsPerHour) continue
    if (missing.length > 0 && isPaid && (!isFirst || used < world.vendor.options.requestsPerHour))
      yield `sync ${sync.index} left ${namesOf(missing)} conversations of agents that work`
  }
}

function* keeps(world: World): Generator<string> {
  const unloaded = [...world.store.pages.values()].filter(({ address }) => !world.warehouse.loaded.has(address))
  const stored = new Set(world.warehouse.conversations.keys())
  for (const { head, body } of unloaded) {
    const { data = [] } = JSON.parse(body.toString()) as { data?: { ID?: unknown }[] }
    for (const { ID } of data) stored.add(keyOf(head.place.agentId ?? '', String(ID)))
  }
  for (const sync of world.syncs) {
    const lost = answersKept(world, sync).flatMap(({ agentId, received }) =>
      received!.filter(id => !stored.has(keyOf(agentId, id))),
    )
    if (lost.length > 0)
      yield `${lost.length} conversations that sync ${sync.index} received are not stored (${lost[0]})`
  }
}

/** Behaviours that nothing in the answers reveals: pages that shift, and a mirror that is late without saying so. */
const SHIFTS: ReadonlySet<BehaviourKind> = new Set(['cursor-is-offset', 'page-shifted'])
const LATE: ReadonlySet<BehaviourKind> = new Set([...SHIFTS, 'mirror-empty', 'mirror-stalls'])

/**
 * An id that no conversation has stands in the place of the right one. A restart by a plausible `ts` that is not the
 * one by which the vendor selects passes over conversations. A page of a single record shows no order, and one without
 * any record no time behind which to verify that it was the last one.
 */
function isMisled(world: World, agentId: string): boolean {
  const concerns = (one: Behaviour) => (one.agentId ?? agentId) === agentId
  const isPlausible = ({ kind, word, value }: Behaviour) =>
    (kind === 'ids' && word === 'number') || (kind === 'record-times' && Math.abs(value ?? DAY) === HOUR)
  const isLone = ({ spoilt, records, hasMore }: Served) =>
    (records.length === 1 && hasMore && spoilt.includes('sort-ignored')) ||
    (records.length === 0 && spoilt.includes('says-last'))
  return (
    world.history.behaviours.some(one => concerns(one) && isPlausible(one)) ||
    exportsOf(world).some(request => request.agentId === agentId && isLone(request))
  )
}

const isProvable = (world: World, hiding: ReadonlySet<BehaviourKind>) => {
  const hidden = new Map<string, boolean>()
  const isHidden = (agentId: string): boolean =>
    [...behavedBadly(world, agentId)].some(kind => hiding.has(kind)) || isMisled(world, agentId)
  return ({ agentId }: Conversation): boolean => {
    if (!hidden.has(agentId)) hidden.set(agentId, isHidden(agentId))
    return !hidden.get(agentId)
  }
}

function* returns(world: World): Generator<string> {
  const last = world.syncs.at(-1)
  if (!last || last.isRunaway || !Number.isFinite(world.behavesFromMs)) return
  // A period limits repeated requests about gaps (`spending.ts`); a tiny quota leaves almost none.
  const inGaps = new Set((last.report?.gaps ?? []).map(gap => gap.agentId))
  const all = missingAfter(world, last).filter(isProvable(world, SHIFTS))
  const asked = sessionsOf(
    all.filter(({ agentId }) => inGaps.has(agentId)),
    last.endedMs,
  )
  const isAsked = asked < GAP_SHARE * world.vendor.options.includedSessions
  const missing = all.filter(({ agentId }) => isAsked || !inGaps.has(agentId))
  const newFrom = newFromMs(world)
  const since = missing.filter(({ agentId, createdMs }) => createdMs > newFrom(agentId))
  const isPaid =
    isAffordable(world, missing, { atMs: last.endedMs, isNew: false }) ||
    (since.length > 0 && isAffordable(world, since, { atMs: last.endedMs, isNew: true }))
  if (missing.length > 0 && isPaid)
    yield `${namesOf(missing)} conversations are missing although the vendor has behaved for two syncs`
}

/** Behaviours that damage single conversations or none: everything else arrives although they continue. */
const GOES_AROUND: ReadonlySet<BehaviourKind> = new Set([
  'fails',
  'unreadable',
  'slow',
  'last-page-repeats',
  'cursor-ignored',
])
/** Number of syncs, and their total duration, after which the data must be complete. */
const PATIENCE = { syncs: 6, ms: DAY }

function* reaches(world: World): Generator<string> {
  const { agents, behaviours, steps } = world.history
  const last = world.syncs.findLast(({ endedMs }) => endedMs <= world.behavesFromMs)
  const tries = steps.filter(step => 'sync' in step && step.killAt === undefined).length
  if (!last || last.isKilled || last.isRunaway || !isUnlimited(last)) return
  if (tries < PATIENCE.syncs || last.beganMs - START_MS < PATIENCE.ms) return
  for (const { id } of agents) {
    const own = behaviours.filter(({ agentId = id }) => agentId === id)
    const isDone = own.every(
      one => GOES_AROUND.has(one.kind) && one.times === undefined && (one.records !== undefined || isPassable(one)),
    )
    if (own.length === 0 || !isDone) continue
    const damaged = new Set(own.flatMap(({ records = [] }) => records))
    const missing = missingAfter(world, last).filter(one => one.agentId === id && !damaged.has(one.id))
    if (missing.length > 2 * damaged.size && isAffordable(world, missing, { atMs: last.endedMs, isNew: false }))
      yield `${namesOf(missing)} conversations that are not damaged never arrive`
  }
}

/** True if smaller pages, or restarts by time, get past it. */
const isPassable = ({ kind, value = 0 }: Behaviour): boolean =>
  kind === 'last-page-repeats' || kind === 'cursor-ignored' || (kind === 'slow' && value >= 5)

/** Returns the agents for which the result of a sync reports missing data; null for any agent. */
function agentsNamed({ report }: SyncOutcome): (string | null)[] {
  if (report === null) return [null]
  const isUnfinished = report.windowsLeft > 0 || report.outcome !== 'done' || (report.warnings ?? []).length > 0
  const named = [...(report.gaps ?? []), ...report.failures].map(({ agentId }) => agentId)
  return [...named, ...report.agentsGone, ...(isUnfinished ? [null] : [])]
}

function* says(world: World): Generator<string> {
  for (const sync of world.syncs) {
    if (sync.isKilled || sync.isRunaway || !isUnlimited(sync)) continue
    const named = new Set(agentsNamed(sync))
    const isNamed = (agentId: string) => named.has(null) || named.has(agentId)
    // An agent that no list has named is unknown and never polled. A record without an id is in the quarantine, which `status` names.
    const polled = new Set(exportsOf(world).flatMap(one => (one.sync <= sync.index ? one.agentId : [])))
    const isListed = (agentId: string) => polled.has(agentId) || !behavedBadly(world).has('agents-short')
    const isKnown = (agentId: string) => isListed(agentId) && !world.warehouse.quarantined.has(agentId)
    const silent = missingAfter(world, sync)
      .filter(isProvable(world, LATE))
      .filter(({ agentId }) => !isNamed(agentId) && isKnown(agentId))
    if (silent.length > 0) yield `sync ${sync.index} says nothing about ${namesOf(silent)} missing conversations`
    const unreadable = requestsOf(world, sync).filter(({ received, billed }) => received === null && billed > 0)
    const unsaid = unreadable.filter(({ agentId }) => !isNamed(agentId))
    if (unsaid.length > 0 && (sync.report?.lostAnswers ?? 0) === 0)
      yield `sync ${sync.index} says nothing about ${unsaid.length} billed answers that nobody could read`
    if (
      behavedBadly(world).size === 0 &&
      !areClocksApart(world) &&
      (sync.report?.failures.length || sync.report?.warnings?.length)
    )
      yield `sync ${sync.index} warns although nothing is wrong: ${sync.report.failures[0]?.what ?? sync.report.warnings?.[0]}`
  }
}

const CHECKS: [Violation['invariant'], (world: World) => Iterable<string>][] = [
  ['ends', ends],
  ['ends', starves],
  ['spends', spending],
  ['keeps', keeps],
  ['returns', returns],
  ['returns', reaches],
  ['says', says],
]

export const violationsOf = (world: World): Violation[] =>
  CHECKS.flatMap(([invariant, check]) => [...check(world)].map(text => ({ invariant, text })))

/** Returns the outcome of each sync of a history as text. */
export const accountOf = (world: World): string =>
  world.syncs
    .map(({ index, report, error, isKilled }) => {
      const { outcome = 'none', requests = 0, sessions = 0, conversations = 0 } = report ?? {}
      const how = isKilled ? 'killed' : error ? String(error) : outcome
      return `  sync ${index}: ${how}, ${requests} requests, ${sessions} sessions, ${conversations} conversations`
    })
    .concat(`  in all ${exportsOf(world).length} requests, ${world.warehouse.conversations.size} conversations stored`)
    .join('\n')
