// Answers planning's questions about the loaded pages without DuckDB: the queries of `sql/planning` over memory-warehouse.ts.

import { type Coverage, cover, gaps as uncovered, without } from '../../src/core/planning/coverage.ts'
import type { Density } from '../../src/core/planning/estimate.ts'
import { coveredByFullExport, type StoredDay } from '../../src/core/planning/full-export.ts'
import { type Gap, retryAtMs } from '../../src/core/planning/gaps.ts'
import { backoffUntilMs } from '../../src/core/planning/no-progress.ts'
import { observedSince } from '../../src/core/planning/planner.ts'
import type { ReadRange } from '../../src/core/planning/rereads.ts'
import type { WindowKind, WindowProgress } from '../../src/core/planning/windows.ts'
import { DAY, HOUR, MAX_CLOCK_SKEW_MS } from '../../src/core/time.ts'
import type { PlanningFacts } from '../../src/steps/planning/facts.ts'
import { drawsOf } from './draws.ts'
import type { MemoryStore } from './memory-landing.ts'
import { reportedPeriods } from './memory-quota.ts'
import type { LoadedConversation, LoadedRequest, MemoryWarehouse } from './memory-warehouse.ts'

const byAgent = <T extends { agentId: string }>(rows: Iterable<T>): Map<string, T[]> => {
  const found = new Map<string, T[]>()
  for (const row of rows) found.set(row.agentId, [...(found.get(row.agentId) ?? []), row])
  return found
}

const sum = <T>(rows: readonly T[], of: (row: T) => number): number => rows.reduce((total, row) => total + of(row), 0)

const groupedBy = <T>(rows: readonly T[], keyOf: (row: T) => string): Map<string, T[]> => {
  const groups = new Map<string, T[]>()
  for (const row of rows) {
    const group = groups.get(keyOf(row))
    if (group) group.push(row)
    else groups.set(keyOf(row), [row])
  }
  return groups
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** Returns sessions billed per returned conversation, by agent. */
function ratesOf({ windows }: MemoryWarehouse): Map<string, number> {
  const grouped = groupedBy([...windows.values()], ({ window }) => window.agentId)
  return new Map(
    [...grouped].map(([agentId, own]) => {
      const returned = sum(own, one => one.returned)
      return [agentId, returned === 0 ? 1 : sum(own, one => one.billed) / returned]
    }),
  )
}

function densities(warehouse: MemoryWarehouse, nowMs: number): Map<string, Density> {
  const sinceMs = observedSince(nowMs)
  const rates = ratesOf(warehouse)
  const timed = [...warehouse.conversations.values()].flatMap(({ agentId, tsMs, sessions }) =>
    tsMs !== null && tsMs >= sinceMs && tsMs <= nowMs ? [{ agentId, tsMs, sessions }] : [],
  )
  return new Map(
    [...byAgent(timed)].map(([agentId, rows]) => {
      const days = [...groupedBy(rows, ({ tsMs }) => dayOf(tsMs)).values()].map(({ length }) => length)
      const firstMs = rows.reduce((first, { tsMs }) => Math.min(first, tsMs), nowMs)
      const week = rows.filter(({ tsMs }) => tsMs >= nowMs - 7 * DAY).length / 7
      const mean = (rows.length - 1) / Math.max(1, (nowMs - firstMs) / DAY)
      return [
        agentId,
        {
          perDay: { low: days.length < 2 ? 0 : Math.min(...days), high: Math.max(...days) },
          newPerDay: Math.max(mean, week),
          sessionsPerConversation: Math.max(1, rates.get(agentId) ?? 1),
          mostSessions: Math.max(1, Math.ceil(rates.get(agentId) ?? 1), ...rows.map(({ sessions }) => sessions)),
        },
      ]
    }),
  )
}

const OVER_RANGES = (kind: WindowKind) => kind !== 'selected' && kind !== 'refresh' && kind !== 'sample'

function hidingRanges(warehouse: MemoryWarehouse, options: Parameters<PlanningFacts['hidingRanges']>[0]): ReadRange[] {
  const { sinceMs, evidenceSinceMs, others, seed } = options
  if (isTsLastActivity(warehouse, evidenceSinceMs)) return []
  const again = [...warehouse.windows.values()].filter(({ window: { kind } }) => kind === 'full' || kind === 'reread')
  const isReadAgain = ({ agentId, sentMs, range }: LoadedRequest) =>
    again.some(
      ({ window }) =>
        window.agentId === agentId &&
        window.openedAtMs > sentMs &&
        window.toSec >= range!.to &&
        (window.fromSec === null || (range!.from !== null && window.fromSec <= range!.from)),
    )
  // A page without a number of scanned conversations represents answers that could not be read.
  const newest = warehouse.requests.filter(
    request =>
      request.range !== null &&
      request.scanned !== null &&
      request.range.to * 1_000 >= sinceMs &&
      !isReadAgain(request),
  )
  const foundOtherwise = byAgent(
    [...warehouse.conversations.values()].filter(({ seen }) =>
      seen.every(({ kind, atMs }) => !OVER_RANGES(kind) || atMs < sinceMs),
    ),
  )
  const isIn = ({ tsMs }: LoadedConversation, { range }: LoadedRequest) =>
    tsMs !== null && tsMs < (range!.to + 1) * 1_000 && (range!.from === null || tsMs >= range!.from * 1_000)
  const pages = newest.map(request => {
    const skipped = request.scanned! - request.returned
    const found = skipped > 0 ? (foundOtherwise.get(request.agentId) ?? []).filter(one => isIn(one, request)).length : 0
    return { request, found, hidden: skipped - found }
  })
  const quiet = pages.filter(({ hidden, request }) => hidden <= 0 && request.kind === 'head')
  const chosen = others === 'all' ? quiet : drawsOf(seed).shuffled(quiet).slice(0, others)
  return [...pages.filter(({ hidden }) => hidden > 0), ...chosen].map(({ request, found }) => ({
    agentId: request.agentId,
    fromSec: request.range!.from,
    toSec: request.range!.to,
    readAtMs: request.sentMs,
    scanned: request.scanned!,
    returned: request.returned,
    knownFromEvents: found,
    sessions: request.billed ?? request.returned,
  }))
}

/** True if a finished re-read found more conversations than had been skipped in its range. */
function lateRowsSeen({ windows, conversations }: MemoryWarehouse, sinceMs: number): boolean {
  const found = new Map<string, number>()
  for (const { agentId, seen } of conversations.values()) {
    // A page of an older window may have been requested later.
    const first = seen.reduce((earliest, one) => (one.atMs < earliest.atMs ? one : earliest))
    if (first.kind !== 'reread') continue
    const key = JSON.stringify([agentId, first.window])
    found.set(key, (found.get(key) ?? 0) + 1)
  }
  return [...windows].some(
    ([key, { window, done }]) =>
      window.kind === 'reread' &&
      window.skipped !== undefined &&
      done &&
      window.openedAtMs >= sinceMs &&
      (found.get(key) ?? 0) > window.skipped,
  )
}

/** Fewer conversations do not show the meaning of `ts`, as in `warehouse/planning/refresh.ts`. */
const ENOUGH = 20

function isTsLastActivity({ conversations }: MemoryWarehouse, sinceMs: number): boolean {
  const seen = [...conversations.values()].filter(
    ({ tsMs, firstMs, lastMs }) =>
      tsMs !== null && firstMs !== null && lastMs !== null && tsMs >= sinceMs && lastMs > firstMs + HOUR,
  )
  const moved = seen.filter(({ tsMs, firstMs, lastMs }) => Math.abs(tsMs! - lastMs!) < Math.abs(tsMs! - firstMs!))
  return seen.length >= ENOUGH && moved.length > seen.length * 0.9
}

function storedByDay(warehouse: MemoryWarehouse): Map<string, StoredDay[]> {
  const rates = ratesOf(warehouse)
  return new Map(
    [...byAgent(warehouse.conversations.values())].map(([agentId, own]) => {
      const days = groupedBy(own, ({ tsMs }) => (tsMs === null ? '' : dayOf(tsMs)))
      return [
        agentId,
        [...days.values()].map(rows => {
          const seconds = rows.flatMap(({ tsMs }) => (tsMs === null ? [] : [Math.floor(tsMs / 1_000)]))
          return {
            range: seconds.length === 0 ? null : { from: Math.min(...seconds), to: Math.max(...seconds) },
            conversations: rows.length,
            billed: rows.length * (rates.get(agentId) ?? 1),
            sessions: sum(rows, ({ sessions }) => Math.max(1, sessions)),
          }
        }),
      ]
    }),
  )
}

/** Returns the seconds read until now by agent, as the planner counts them. */
function readByAgent(warehouse: MemoryWarehouse, nowMs: number): Map<string, Coverage> {
  const read = new Map(warehouse.coverage)
  for (const progress of warehouse.windows.values()) {
    if (progress.window.kind !== 'full') continue
    const { agentId } = progress.window
    read.set(agentId, coveredByFullExport(progress).reduce(cover, read.get(agentId) ?? []))
  }
  const future = { from: Math.floor(nowMs / 1_000) + 1, to: Number.POSITIVE_INFINITY }
  return new Map([...read].map(([agentId, coverage]) => [agentId, without(coverage, future)]))
}

/** Returns ranges that could not be read and that nothing has read since, by the newest attempt of each. */
function rangeGaps(warehouse: MemoryWarehouse, nowMs: number): Gap[] {
  const claimed = readByAgent(warehouse, nowMs)
  return [...warehouse.windows.values()]
    .flatMap(({ window, gap }) => (gap ? [{ window, gap, triedMs: gap.atMs }] : []))
    .sort((a, b) => b.triedMs - a.triedMs)
    .flatMap(({ window: { agentId }, gap: { fromSec, toSec, ...about }, triedMs }) => {
      const range = { from: fromSec ?? 0, to: toSec }
      const read = claimed.get(agentId) ?? []
      claimed.set(agentId, cover(read, range))
      const retry = retryAtMs({ lastTriedMs: Math.min(triedMs, nowMs), tries: about.tries })
      return uncovered(read, range).map(({ from, to }) => ({
        ...{ agentId, fromSec: from <= 0 ? null : from, toSec: to, ...about, retryAtMs: retry },
      }))
    })
    .sort((a, b) => (a.agentId < b.agentId ? -1 : a.agentId > b.agentId ? 1 : a.toSec - b.toSec))
}

/** Returns the agents that runs have skipped since the vendor last answered an export of them. */
function leftAgents({ agentsLeft, requests }: MemoryWarehouse): Omit<Gap, 'fromSec' | 'toSec'>[] {
  const lastMs = new Map<string, number>()
  for (const { agentId, sentMs } of requests) lastMs.set(agentId, Math.max(lastMs.get(agentId) ?? 0, sentMs))
  const since = agentsLeft.filter(({ agentId, endedMs }) => endedMs > (lastMs.get(agentId) ?? 0))
  return [...byAgent(since)].map(([agentId, left]) => {
    const { code, what, endedMs } = left.at(-1)!
    const retry = retryAtMs({ lastTriedMs: endedMs, tries: left.length - 1 })
    return { agentId, code, what, sinceMs: left[0]!.endedMs, tries: left.length, retryAtMs: retry }
  })
}

/** Returns everything that could not be read, and the number of windows that a sync without flags continues. */
export function missingNow(warehouse: MemoryWarehouse, nowMs: number): { windowsUnfinished: number; gaps: Gap[] } {
  const read = readByAgent(warehouse, nowMs)
  const left = leftAgents(warehouse).map(agent => ({
    ...agent,
    fromSec: (read.get(agent.agentId)?.at(-1)?.to ?? -1) + 1 || null,
    toSec: Math.floor(nowMs / 1_000),
  }))
  const isOverTime = ({ window: { kind }, done }: WindowProgress) =>
    !done && (kind === 'head' || kind === 'tail' || kind === 'reread')
  return {
    windowsUnfinished: [...warehouse.windows.values()].filter(isOverTime).length,
    gaps: [...rangeGaps(warehouse, nowMs), ...left],
  }
}

/** Returns the last second that may contain a conversation, by agent, as `seenThrough` finds it in the warehouse. */
function seenThrough({ conversations, requests, windows }: MemoryWarehouse, nowMs: number): Map<string, number> {
  const seen = new Map<string, number>()
  const at = (agentId: string, sec: number) => {
    if (sec * 1_000 <= nowMs) seen.set(agentId, Math.max(seen.get(agentId) ?? 0, sec))
  }
  for (const { agentId, tsMs, fetchedMs } of conversations.values())
    at(agentId, Math.floor(Math.min(tsMs ?? fetchedMs, fetchedMs) / 1_000))
  for (const { agentId, scanned, returned, range } of requests)
    if (range && scanned !== null && scanned > returned) at(agentId, range.to)
  for (const { window, undated } of windows.values()) if (undated) at(window.agentId, window.toSec)
  return seen
}

/** Returns the latest time in the record that is not later than its newest answer. */
const lastActivityMs = ({ tsMs, lastMs, fetchedMs }: LoadedConversation): number =>
  Math.max(0, ...[tsMs, lastMs].map(ms => (ms !== null && ms <= fetchedMs + MAX_CLOCK_SKEW_MS ? ms : 0)))

/** Returns the facts of a workspace without events. */
export function memoryFacts(warehouse: MemoryWarehouse, store: MemoryStore): PlanningFacts {
  const all = (): WindowProgress[] => [...warehouse.windows.values()]
  const stored = () => [...warehouse.conversations.values()].filter(({ id }) => !id.includes(','))
  const isThere = ({ missingSinceMs, notExportableSinceMs }: LoadedConversation) =>
    missingSinceMs === null && notExportableSinceMs === null
  const keys = (rows: readonly LoadedConversation[]) => rows.map(({ agentId, id }) => ({ agentId, id }))
  const refusedOf = ({ agentId, refusedMs }: { agentId: string; refusedMs: readonly number[] }): number[] => {
    const answers = warehouse.requests.filter(request => request.agentId === agentId)
    return refusedMs.filter(atMs => answers.every(({ sentMs }) => sentMs < atMs))
  }
  return {
    knownAgents: async () =>
      [...warehouse.agents.values()].map(agent => ({
        agentId: agent.agentId,
        title: agent.title,
        isListed: agent.seenMs >= warehouse.listedMs,
        refusedMs: refusedOf(agent),
      })),
    goneAgents: async () =>
      [...warehouse.agents.values()]
        .filter(({ refusedMs, seenMs }) => refusedMs.some(atMs => atMs >= seenMs))
        .map(({ agentId }) => agentId),
    async coverage(clock) {
      warehouse.cutUnpassedTime(clock)
      return warehouse.coverage
    },
    gaps: async nowMs => rangeGaps(warehouse, nowMs),
    seenThrough: async nowMs => seenThrough(warehouse, nowMs),
    activeConversations: async () => [],
    measuredRefreshes: async () => null,
    // Shifts are tested with the real queries (test/workflows/shifted-pages.test.ts).
    shiftedRanges: async () => [],
    leftAgents: async () => leftAgents(warehouse),
    billedForGaps: async sinceMs =>
      sum(
        all().filter(({ window, gap }) => gap && gap.tries > 0 && window.openedAtMs >= sinceMs),
        ({ gap }) => gap!.billedUpTo,
      ),
    openWindows: async () =>
      all()
        .filter(({ done }) => !done)
        .sort((a, b) => a.window.openedAtMs - b.window.openedAtMs || (a.window.name < b.window.name ? -1 : 1)),
    pausedWindows: async nowMs =>
      all().flatMap(progress => {
        const { agentId, name } = progress.window
        const sent = warehouse.requests.filter(request => request.agentId === agentId && request.window === name)
        const lastMs = Math.max(0, ...sent.map(({ sentMs }) => sentMs))
        const untilMs = progress.done ? null : backoffUntilMs(progress, lastMs, nowMs)
        return untilMs === null ? [] : [{ agentId, window: name, untilMs }]
      }),
    densities: async nowMs => densities(warehouse, nowMs),
    reportedPeriods: async () => reportedPeriods(warehouse),
    periodSinceMs: async key => {
      const since = warehouse.usages.filter(({ usage }) => key !== null && usage.periodKey === key)
      return since.length === 0 ? null : Math.min(...since.map(({ reportedMs }) => reportedMs))
    },
    fullWindows: async () => all().filter(({ window }) => window.kind === 'full'),
    droppedFullsMs: async () => store.fullsDroppedMs,
    dropFulls: async untilMs => {
      store.fullsDroppedMs = untilMs
    },
    storedByDay: async () => storedByDay(warehouse),
    dirtyIds: async () => [],
    agedIds: async ({ activeSinceMs, readBeforeMs }) =>
      keys(
        stored().filter(one => isThere(one) && lastActivityMs(one) >= activeSinceMs && one.fetchedMs <= readBeforeMs),
      ),
    randomIds: async ({ readBeforeMs, count, seed }) =>
      keys(
        drawsOf(seed)
          .shuffled(stored().filter(one => isThere(one) && one.fetchedMs <= readBeforeMs))
          .slice(0, count),
      ),
    lastSampledMs: async () => {
      const samples = all().filter(({ window }) => window.kind === 'sample')
      return samples.length === 0 ? null : Math.max(...samples.map(({ window }) => window.openedAtMs))
    },
    hidingRanges: async options => hidingRanges(warehouse, options),
    lateRowsSeen: async sinceMs => lateRowsSeen(warehouse, sinceMs),
    billedByRereads: async sinceMs =>
      sum(
        all().filter(({ window }) => window.kind === 'reread' && window.openedAtMs >= sinceMs),
        ({ billed }) => billed,
      ),
  }
}
