// Full exports: on request, everything is exported again. A full export may span several runs; its windows share the time at
// which it was planned. Only a request for the same full export continues it; any other sync treats its landed ranges as read.
import { gaps, type Interval } from './coverage.ts'
import type { Estimate } from './estimate.ts'
import type { FullScope, WindowProgress } from './windows.ts'

export interface FullExport extends FullScope {
  /** Time of its planning, on the server's clock, ms. */
  openedAtMs: number
  fromSec: number | null
  toSec: number
  windows: readonly WindowProgress[]
}

const second = (ms: number): number => Math.floor(ms / 1_000)

const ALL: FullScope = { agents: [], untilMs: null }

const keyOf = ({ agents, untilMs }: FullScope): string => JSON.stringify([agents, untilMs])

/** Returns the newest full export of each scope; only those planned after `droppedMs`. */
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

/** Returns the agents of the export that still exist (`there`) and whose windows are not finished. */
export function agentsLeft({ agents, windows }: FullExport, there: readonly string[]): string[] {
  const done = new Set(windows.filter(progress => progress.done).map(({ window }) => window.agentId))
  return there.filter(agentId => (agents.length === 0 || agents.includes(agentId)) && !done.has(agentId))
}

/** True for the export's own start, or for a relative one (`--since 90d`), which has moved with time since the planning. */
const hasSameStart = ({ fromSec, openedAtMs }: FullExport, from: number, nowMs: number): boolean =>
  (fromSec === null) === from <= 0 && Math.abs(from - (fromSec ?? 0)) <= second(nowMs - openedAtMs) + 60

/**
 * Returns the full export that a request for this scope and start continues; null if the request begins a new one. An export
 * planned by an earlier request must be unfinished; the request's own export (planned at `continuesMs`) may already be finished.
 */
export function resumableFullExport(
  exports: readonly FullExport[],
  asked: { scope: FullScope; from: number; there: readonly string[]; nowMs: number; continuesMs?: number | null },
): FullExport | null {
  const same = exports.find(known => keyOf(known) === keyOf(asked.scope))
  if (!same || !hasSameStart(same, asked.from, asked.nowMs)) return null
  return same.openedAtMs === asked.continuesMs || agentsLeft(same, asked.there).length > 0 ? same : null
}

/** Returns the seconds that an unfinished window of a full export has read: the newest ones, because it reads newest first. */
export function coveredByFullExport({ window, lastTsMs, done, holes = [] }: WindowProgress): Interval[] {
  if (done || lastTsMs === null || second(lastTsMs) >= window.toSec) return []
  return gaps(holes, { from: Math.max(second(lastTsMs) + 1, window.fromSec ?? 0), to: window.toSec })
}

/** Stored conversations of one agent and one day; `range` is null for those without `ts`. */
export interface StoredDay {
  /** From the first `ts` to the last one. */
  range: Interval | null
  conversations: number
  /** Estimated sessions: the number of conversations at this agent's billed rate. */
  billed: number
  /** Sessions in the conversations' records, some of which may not be billed. */
  sessions: number
}

/** Prices another export of the stored conversations in a range; a day that lies only partly in the range counts in proportion. */
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
