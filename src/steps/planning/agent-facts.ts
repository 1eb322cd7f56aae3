// The planner's input per agent, from the warehouse and from landed pages that are not loaded yet.
import { type Coverage, cover } from '../../core/planning/coverage.ts'
import type { Density } from '../../core/planning/estimate.ts'
import type { StoredDay } from '../../core/planning/full-export.ts'
import { type Gap, retryAtMs } from '../../core/planning/gaps.ts'
import type { ActiveConversations, AgentFacts } from '../../core/planning/planner.ts'
import { type ClockReading, withoutUnpassedTime } from '../../core/planning/unpassed-time.ts'
import { advance, coveredBy } from '../../core/planning/window-progress.ts'
import { isById, newProgress, type WindowProgress } from '../../core/planning/windows.ts'
import type { LoadablePage } from '../../warehouse/load/load-input.ts'
import type { PausedWindow } from '../../warehouse/planning/planner-queries.ts'
import type { ListedAgent } from '../listing/agents.ts'

export interface KnownWindows {
  /** Seconds covered, by agent. */
  coverage: ReadonlyMap<string, Coverage>
  open: readonly WindowProgress[]
  /** Windows of full exports, finished or not; `open` contains none of them. */
  full?: readonly WindowProgress[]
  /** Ranges that could not be read. */
  gaps?: readonly Gap[]
}

/** Adds unloaded pages to the stored days: a full export would bill both again. */
export function withUnloaded(
  stored: ReadonlyMap<string, readonly StoredDay[]>,
  pages: readonly LoadablePage[],
): Map<string, readonly StoredDay[]> {
  const all = new Map(stored)
  for (const { head } of pages) {
    const { facts } = head
    if (!facts || facts.returned === 0) continue
    const { agentId } = facts.window
    const seconds = [facts.firstTsMs, facts.lastTsMs].flatMap(ms => (ms == null ? [] : [Math.floor(ms / 1_000)]))
    const range = seconds.length === 0 ? null : { from: Math.min(...seconds), to: Math.max(...seconds) }
    const billed = facts.billed ?? facts.returned
    const day = { range, conversations: facts.returned, billed, sessions: billed }
    all.set(agentId, [...(all.get(agentId) ?? []), day])
  }
  return all
}

/** Returns the newest `ts` in the pages of an agent that has passed, ms. */
function newestTsMs(pages: readonly LoadablePage[], agentId: string, { latestMs }: ClockReading): number {
  const facts = pages.flatMap(({ head }) => (head.facts?.window.agentId === agentId ? [head.facts] : []))
  const times = facts.flatMap(({ firstTsMs, lastTsMs }) => [firstTsMs ?? 0, lastTsMs ?? 0])
  return times.filter(ms => ms <= latestMs).reduce((a, b) => Math.max(a, b), 0)
}

/** Applies unloaded pages to the windows known to the warehouse. */
export function withPending(known: KnownWindows, pages: readonly LoadablePage[], clock: ClockReading): KnownWindows {
  const keyOf = (agentId: string, name: string) => JSON.stringify([agentId, name])
  const windows = new Map(known.open.map(progress => [keyOf(progress.window.agentId, progress.window.name), progress]))
  for (const { head } of pages) {
    if (!head.facts) continue
    const { window } = head.facts
    const key = keyOf(window.agentId, window.name)
    windows.set(key, advance(windows.get(key) ?? newProgress(window), head.facts))
  }
  const coverage = new Map(known.coverage)
  const read = [...windows.values()].filter(({ done, window }) => done && !isById(window.kind))
  for (const agentId of new Set(read.map(({ window }) => window.agentId))) {
    const own = read.filter(({ window }) => window.agentId === agentId)
    const certainSec = Math.floor((newestTsMs(pages, agentId, clock) - clock.settleMs) / 1_000)
    const cut = withoutUnpassedTime(own, { latestMs: clock.latestMs, certainSec })
    coverage.set(agentId, cut.flatMap(coveredBy).reduce(cover, coverage.get(agentId) ?? []))
  }
  const unread = [...windows.values()].flatMap(({ window, gap }) =>
    gap && !(known.gaps ?? []).some(({ agentId, toSec }) => agentId === window.agentId && toSec === gap.toSec)
      ? [{ ...gap, agentId: window.agentId, retryAtMs: retryAtMs({ lastTriedMs: gap.atMs, tries: gap.tries }) }]
      : [],
  )
  const isFull = ({ window }: WindowProgress) => window.kind === 'full'
  const finished = (known.full ?? []).filter(progress => progress.done)
  return {
    coverage,
    open: [...windows.values()].filter(progress => !progress.done && !isFull(progress)),
    full: [...finished, ...[...windows.values()].filter(isFull)],
    gaps: [...(known.gaps ?? []), ...unread],
  }
}

/** Returns one entry for each agent in the plan. */
export function factsOf(options: {
  agents: readonly ListedAgent[]
  windows: KnownWindows
  densities: ReadonlyMap<string, Density>
  resting: readonly PausedWindow[]
  active: readonly ({ agentId: string } & ActiveConversations)[]
  stored: ReadonlyMap<string, readonly StoredDay[]>
  selected: boolean
  /** For each agent, the last second that may contain a conversation according to the tables. */
  seenThrough: ReadonlyMap<string, number>
  /** Agents with landed pages that are not loaded, so that the tables do not show where their conversations end. */
  unloaded: ReadonlySet<string>
  /** Time until which nothing is requested for an agent, ms. */
  refusedUntilMs: ReadonlyMap<string, number>
}): AgentFacts[] {
  const { windows, densities, resting } = options
  const { full = [], gaps = [] } = windows
  const active = new Map(options.active.map(({ agentId, ...waiting }) => [agentId, waiting]))
  const open = new Map<string, WindowProgress[]>()
  for (const progress of windows.open) {
    const { agentId, kind } = progress.window
    if ((kind === 'selected') !== options.selected) continue
    const own = open.get(agentId)
    if (own) own.push(progress)
    else open.set(agentId, [progress])
  }
  return options.agents.map(({ agentId, title }) => ({
    agentId,
    title,
    coverage: windows.coverage.get(agentId) ?? [],
    active: active.get(agentId),
    open: open.get(agentId) ?? [],
    backingOff: resting.filter(window => window.agentId === agentId).map(({ window }) => window),
    gaps: gaps.filter(gap => gap.agentId === agentId),
    seenThroughSec: options.unloaded.has(agentId) ? undefined : (options.seenThrough.get(agentId) ?? null),
    refusedUntilMs: options.refusedUntilMs.get(agentId) ?? 0,
    density: densities.get(agentId) ?? null,
    full: full.filter(({ window }) => window.agentId === agentId),
    stored: options.stored.get(agentId) ?? [],
  }))
}
