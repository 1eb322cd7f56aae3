// Full exports: everything is exported again, on request. One spans runs: its windows have the moment in common at which it was
// planned. Only who asks for a full export again, of the same, goes on with it; to any other sync what it has landed counts as read.
import { gaps, type Interval } from './coverage.ts'
import type { Estimate } from './estimate.ts'
import type { FullScope, WindowProgress } from './windows.ts'

export interface FullExport extends FullScope {
  /** When it was planned, on the server's clock, ms. */
  openedAtMs: number
  fromSec: number | null
  toSec: number
  windows: readonly WindowProgress[]
}

const second = (ms: number): number => Math.floor(ms / 1_000)

const ALL: FullScope = { agents: [], untilMs: null }

const keyOf = ({ agents, untilMs }: FullScope): string => JSON.stringify([agents, untilMs])

/** The newest full export of each scope, of those that were planned after `droppedMs`. */
export function newestFullExports(windows: readonly WindowProgress[], droppedMs: number | null): FullExport[] {
  const newest = new Map<string, FullExport>()
  for (const progress of windows) {
    const { openedAtMs, fromSec, toSec, full: scope = ALL } = progress.window
    const known = newest.get(keyOf(scope))
    if (openedAtMs <= (droppedMs ?? -1) || (known && known.openedAtMs > openedAtMs)) continue
    const others = known?.openedAtMs === openedAtMs ? known.windows : []
    newest.set(keyOf(scope), { ...scope, openedAtMs, fromSec, toSec, windows: [...others, progress] })
  }
  return [...newest.values()]
}

/** Agents whose windows it has not finished, of those that are there. */
export function agentsLeft({ agents, windows }: FullExport, there: readonly string[]): string[] {
  const done = new Set(windows.filter(progress => progress.done).map(({ window }) => window.agentId))
  return there.filter(agentId => (agents.length === 0 || agents.includes(agentId)) && !done.has(agentId))
}

/** Its beginning may have moved with the time that has passed: `--since 90d`. */
const hasSameStart = ({ fromSec, openedAtMs }: FullExport, from: number, nowMs: number): boolean =>
  (fromSec === null) === from <= 0 && Math.abs(from - (fromSec ?? 0)) <= second(nowMs - openedAtMs) + 60

/**
 * The unfinished one that a request for that scope, from that second on, goes on with; null: it begins anew. One that the request itself
 * has begun (`goesOnMs`) may have been finished meanwhile.
 */
export function resumableFullExport(
  exports: readonly FullExport[],
  asked: { scope: FullScope; from: number; there: readonly string[]; nowMs: number; goesOnMs?: number | null },
): FullExport | null {
  const same = exports.find(known => keyOf(known) === keyOf(asked.scope))
  if (!same || !hasSameStart(same, asked.from, asked.nowMs)) return null
  return same.openedAtMs === asked.goesOnMs || agentsLeft(same, asked.there).length > 0 ? same : null
}

/** What an unfinished window of one has read for good, newest first as it goes. */
export function coveredByFullExport({ window, lastTsMs, done, holes = [] }: WindowProgress): Interval[] {
  if (done || lastTsMs === null || second(lastTsMs) >= window.toSec) return []
  return gaps(holes, { from: Math.max(second(lastTsMs) + 1, window.fromSec ?? 0), to: window.toSec })
}

/** Stored conversations of one agent and one day; without `ts` where it has no stretch. */
export interface StoredDay {
  /** From the first `ts` to the last one. */
  range: Interval | null
  conversations: number
  /** At the rate at which this agent's exports were billed. */
  billed: number
  /** That their records show; some of them may have nothing that is billed. */
  sessions: number
}

/** Prices exporting again what is stored of a stretch; a day at its edge counts in proportion. */
export function estimateStored(days: readonly StoredDay[], { from, to }: Interval, page: number): Estimate {
  const shareOf = ({ range }: StoredDay): number => {
    if (range === null) return from <= 0 ? 1 : 0
    const overlap = Math.min(to, range.to) - Math.max(from, range.from) + 1
    return Math.max(0, overlap) / (range.to - range.from + 1)
  }
  const sum = (of: (stored: StoredDay) => number) =>
    Math.round(days.reduce((total, stored) => total + shareOf(stored) * of(stored), 0))
  const conversations = sum(stored => stored.conversations)
  const [billed, shown] = [sum(stored => stored.billed), sum(stored => stored.sessions)]
  const requests = Math.max(1, Math.ceil(conversations / page))
  return {
    conversations: { low: conversations, high: conversations },
    sessions: { low: Math.min(billed, shown), high: Math.max(billed, shown) },
    requests: { low: requests, high: requests },
  }
}
