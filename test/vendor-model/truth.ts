// Lists the vendor's conversations of a history, those that arrived, and those that are missing, for the invariants.
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import type { BehaviourKind } from './behaviours.ts'
import { exportsOf, type SyncOutcome, type World } from './history.ts'
import type { Served } from './model-transport.ts'
import { billOf, type Conversation } from './vendor-model.ts'

/** Returns the age at which everything has settled: the mirror's lag, the setting for it, a margin, and the time between polls. */
const settleMs = ({ vendor, history }: World): number =>
  5 * MINUTE + (history.agents.length / (0.8 * vendor.options.requestsPerHour)) * HOUR

export const keyOf = (agentId: string, id: string): string => JSON.stringify([agentId, id])

const known = new WeakMap<World, Map<string, number>>()

/** Returns when each conversation first arrived in a complete, readable answer, by the true clock. The history must be over. */
function firstReceived(world: World): Map<string, number> {
  const first = known.get(world) ?? new Map<string, number>()
  if (known.has(world)) return first
  known.set(world, first)
  for (const { agentId, received, receivedAtMs } of exportsOf(world))
    for (const id of received ?? []) {
      const key = keyOf(agentId, id)
      if (!first.has(key)) first.set(key, receivedAtMs)
    }
  return first
}

/** Returns the start of the first sync that got an answer about an agent: only later conversations of it are new. */
export function newFromMs(world: World): (agentId: string) => number {
  const from = new Map<string, number>()
  for (const { agentId, sync, received, isProbe } of exportsOf(world))
    if (received !== null && !isProbe && !from.has(agentId)) from.set(agentId, world.syncs[sync]!.beganMs)
  return agentId => from.get(agentId) ?? Number.POSITIVE_INFINITY
}

/** Returns conversations that an export at `atMs` could return and that had settled, unless their `ts` moves until `byMs`. */
export function settledAt(world: World, atMs: number, byMs = atMs): Conversation[] {
  const { ts, conversations } = world.vendor.options
  const settledMs = atMs - settleMs(world)
  const isUnsettled = (ms: number) => ms > settledMs && ms <= byMs
  return conversations.filter(({ createdMs, mirroredMs, humanMs, goneMs, sessionsMs }) => {
    const isThere = Math.max(createdMs, mirroredMs, humanMs) <= settledMs && goneMs > byMs
    return isThere && !(ts === 'activity' && sessionsMs.some(isUnsettled))
  })
}

/** Returns settled conversations that the tables lack at `byMs`, although they existed from the sync's start. */
export function missingAfter(world: World, { beganMs, endedMs }: SyncOutcome, byMs = endedMs): Conversation[] {
  const first = firstReceived(world)
  return settledAt(world, beganMs, byMs).filter(
    ({ agentId, id }) => (first.get(keyOf(agentId, id)) ?? Number.POSITIVE_INFINITY) > byMs,
  )
}

export const sessionsOf = (conversations: readonly Conversation[], atMs: number): number =>
  conversations.reduce((sum, one) => sum + billOf(one, atMs), 0)

/** Returns the export requests of a sync. */
export const requestsOf = (world: World, { index }: SyncOutcome): Served[] =>
  exportsOf(world).filter(({ sync }) => sync === index)

/** Returns the readable answers of a sync. A killed process loses the answers that it has just received, in each of its four loops. */
export function answersKept(world: World, sync: SyncOutcome): Served[] {
  const answered = requestsOf(world, sync).filter(({ received }) => received !== null)
  return sync.isKilled || sync.isRunaway ? answered.slice(0, -4) : answered
}

/** Returns the behaviours that changed an answer about the agent, or any answer without an agent. */
export function behavedBadly(world: World, agentId: string | null = null): Set<BehaviourKind> {
  const touched = world.transport.log.filter(
    one => agentId === null || one.kind === 'agents' || one.agentId === agentId,
  )
  return new Set(touched.flatMap(({ spoilt }) => spoilt))
}

/** Returns the sessions that new conversations will need until the period ends, with a margin: history may have to wait for them. */
function neededForNew({ vendor, history }: World, atMs: number): number {
  const { periodDays, includedSessions } = vendor.options
  const rates = history.agents.map(({ perDay, history: old, historyDays, goesOn }) => {
    const seen = Math.max(perDay, old / Math.max(1, historyDays))
    return seen * (goesOn ? 1.5 : 1)
  })
  const perDay = rates.reduce((sum, rate) => sum + rate, 0)
  // Few conversations say little about a rate.
  const margin = 1.2 * (1 + 2 / Math.sqrt(Math.max(1, vendor.options.conversations.length)))
  // The start of the first period is unknown.
  const sinceMs = Math.max(vendor.period(atMs).sinceMs, vendor.options.startMs)
  const daysLeft = (sinceMs - atMs) / DAY + Math.max(31, periodDays)
  const { headReserve } = history
  return headReserve === undefined ? margin * perDay * daysLeft : headReserve * includedSessions
}

/** True if the quota leaves enough for these conversations. `isNew`: they come before all others. */
export function isAffordable(
  world: World,
  conversations: readonly Conversation[],
  { atMs, isNew }: { atMs: number; isNew: boolean },
): boolean {
  const { includedSessions, usedElsewhere } = world.vendor.options
  const { key, sinceMs } = world.vendor.period(atMs)
  const ours = world.vendor.bills.filter(bill => bill.atMs >= sinceMs && bill.atMs <= atMs)
  const used = ours.reduce((sum, { sessions }) => sum + sessions, key === 'period-0' ? usedElsewhere : 0)
  const left = includedSessions - used
  const reserve = isNew ? 0 : neededForNew(world, atMs) + includedSessions / 50
  return left > 1.1 * sessionsOf(conversations, atMs) + 40 + reserve
}

export const namesOf = (conversations: readonly Conversation[]): string => {
  const names = conversations.slice(0, 3).map(({ agentId, id }) => `${agentId}/${id}`)
  return `${conversations.length} (${names.join(', ')}${conversations.length > 3 ? ', …' : ''})`
}
