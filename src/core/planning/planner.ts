// The planner: turns coverage, unfinished windows and the request into an ordered, priced list of windows. Pure:
// `convohouse plan` prints exactly what `sync` executes.
//
//   since ──────────── tail (descending) ────────────┐ ┌── covered ──┐ ┌─ head (ascending) ─┐ settle │ now
//
// Head begins where coverage ends. Everything before the coverage is tail, read newest first, so that the newest history arrives after the
// fewest requests. Ranges of unfinished windows are not planned again.

import { DAY, EARLIEST_MS } from '../time.ts'
import { type Coverage, cover, gaps, type Interval, quietFrom } from './coverage.ts'
import {
  type Density,
  type Estimate,
  estimateIds,
  estimateRange,
  knownPerDay,
  type Outlook,
  totalOf,
} from './estimate.ts'
import {
  coveredByFullExport,
  estimateStored,
  type FullExport,
  newestFullExports,
  resumableFullExport,
  type StoredDay,
} from './full-export.ts'
import type { Gap } from './gaps.ts'
import { dueGaps, FIRST_PAGE } from './gaps.ts'
import { idWindows } from './id-windows.ts'
import { MAX_IDLE_PAGES } from './no-progress.ts'
import type { MeasuredRefreshes } from './refresh-rule.ts'
import { planRereads, type RereadOptions } from './rereads.ts'
import { aheadOf, coveredBy } from './window-progress.ts'
import {
  type FullScope,
  isById,
  newProgress,
  openWindow,
  secondOf,
  sortOf,
  type WindowKind,
  type WindowProgress,
} from './windows.ts'

export interface AgentFacts {
  agentId: string
  title: string | null
  coverage: Coverage
  active?: ActiveConversations | undefined
  /** Unfinished windows, oldest first. */
  open: readonly WindowProgress[]
  /** Names of unfinished windows that back off (`backoffUntilMs`): neither these windows nor their ranges are planned. */
  backingOff?: readonly string[]
  /** Ranges that could not be read, whether or not `coverage` contains them. */
  gaps?: readonly Gap[]
  /** The last second that may contain a conversation according to the pages; null if none has one; omitted if unknown. */
  seenThroughSec?: number | null | undefined
  /** Set if the vendor refuses the agent: nothing is requested before this time, ms. */
  refusedUntilMs?: number
  density: Density | null
  /** Windows of full exports, finished or not; not in `open`. */
  full?: readonly WindowProgress[]
  /** Stored conversations by day; omitted if no full export is planned. */
  stored?: readonly StoredDay[]
}

/** Conversations whose first export waits until they are quiet, and their earliest `ts`, in seconds. */
export interface ActiveConversations {
  conversations: number
  sinceSec: number
}

/** Conversation ids by agent. */
type AgentIds = ReadonlyMap<string, readonly string[]>

export interface PlanOptions {
  agents: readonly AgentFacts[]
  /** Time of the server's clock, ms. */
  nowMs: number
  settleMs: number
  sinceMs: number | null
  untilMs: number | null
  /** `full` exports everything again; `selected` exports conversations by id. */
  mode: { kind: 'incremental' } | { kind: 'full'; agents: readonly string[] } | { kind: 'selected'; ids: AgentIds }
  /** Full exports planned at or before this time are dropped, ms; null or omitted for none. */
  droppedMs?: number | null
  /** Time when this request planned its own full export, ms; null or omitted if it has planned none. */
  continuesMs?: number | null
  /** Conversations and ranges that an incremental run exports again. */
  refreshes: RefreshRequest
  /** Sessions that requests for gaps may bill for unreadable pages. */
  gapSessions: number
  maxPage: number
  idsPerRequest: number
  requestsPerHour: number
}

/** Conversations that may have changed or been missed, and are worth their price. */
export interface RefreshRequest
  extends Pick<RereadOptions, 'ranges' | 'horizonMs' | 'quietMs' | 'budgetSessions' | 'late'> {
  /** Changed or requested conversations. */
  refresh: AgentIds
  /** Conversations in `refresh` without a new message, whose refresh is measured; omitted for none. */
  known?: AgentIds
  /** Results of these refreshes so far; omitted if none was measured. */
  measured?: MeasuredRefreshes
  /** Random conversations. */
  sample: AgentIds
}

export const NO_REFRESH: RefreshRequest = {
  refresh: new Map(),
  sample: new Map(),
  ranges: [],
  horizonMs: 0,
  quietMs: 0,
  budgetSessions: 0,
  late: false,
}

export interface PlannedWindow {
  progress: WindowProgress
  /** True if an earlier run opened the window. */
  resumes: boolean
  estimate: Estimate | null
}

export interface Plan {
  windows: PlannedWindow[]
  /** Sum over all windows that can be priced. */
  total: Estimate
  /** Number of windows that cannot be priced. */
  unknown: number
  /** Agents whose history has never been read. */
  firstBackfills: number
  /** Number of conversations whose first export waits; omitted for none. */
  active?: number
  measured?: MeasuredRefreshes
  /** Set if something is known to be missing that the plan does not read. */
  incomplete?: true
  /** Expected use by new conversations, which the governor updates during the run. */
  outlook: Outlook
}

/** Share of the rate limit that polls for new conversations may use; the rest is for history. */
const HEAD_SHARE = 0.8

/** Returns the seconds that are covered or that an unfinished window reads. */
const claimedBy = ({ open, full = [], coverage }: AgentFacts): Coverage =>
  open
    .filter(({ window }) => !isById(window.kind))
    .reduce(
      (all, progress) => coveredBy(progress).reduce(cover, all),
      full.flatMap(coveredByFullExport).reduce(cover, coverage),
    )

const rangeOf = ({ fromSec, toSec }: Gap): Interval => ({ from: fromSec ?? 0, to: toSec })

function uncoveredRanges(agent: AgentFacts, wanted: Interval): { kind: WindowKind; interval: Interval }[] {
  const claimed = (agent.gaps ?? []).map(rangeOf).reduce(cover, claimedBy(agent))
  const end = claimed.at(-1)?.to
  return gaps(claimed, wanted).map(interval => ({
    kind: end !== undefined && interval.from > end ? 'head' : 'tail',
    interval,
  }))
}

/** Returns the minimum number of seconds between two polls of one agent, so that the polls of all agents fit into the rate limit. */
export const pollSeconds = (agents: number, requestsPerHour: number): number =>
  Math.floor((agents / Math.max(1, requestsPerHour * HEAD_SHARE)) * 3_600)

/** Prices a window. Each run resets `idle`: empty pages of an earlier run do not prove that the window contains only empty pages. */
function priced(
  known: WindowProgress,
  resumes: boolean,
  agent: AgentFacts,
  options: PlanOptions,
  idle = 0,
): PlannedWindow {
  const { window } = known
  const progress = { ...known, idle }
  const isAscending = sortOf(window) === 'asc'
  const from = progress.lastTsMs !== null && isAscending ? secondOf(progress.lastTsMs) : window.fromSec
  const to =
    progress.lastTsMs !== null && !isAscending ? Math.min(window.toSec, secondOf(progress.lastTsMs)) : window.toSec
  if (window.kind === 'full' && agent.stored && agent.stored.length > 0)
    return { progress, resumes, estimate: estimateStored(agent.stored, { from: from ?? 0, to }, options.maxPage) }
  const estimate = isById(window.kind)
    ? estimateIds(agent.density, (window.ids?.length ?? 0) - progress.asked, options.idsPerRequest)
    : estimateRange(agent.density, from === null ? null : to - from + 1, options.maxPage)
  return { progress, resumes, estimate }
}

function newWindow(agent: AgentFacts, kind: WindowKind, interval: Interval, options: PlanOptions): WindowProgress {
  return newProgress(
    openWindow({
      agentId: agent.agentId,
      kind,
      fromSec: interval.from <= 0 ? null : interval.from,
      toSec: interval.to,
      openedAtMs: options.nowMs,
    }),
  )
}

function pricedIds(agent: AgentFacts, kind: WindowKind, ids: readonly string[], options: PlanOptions): PlannedWindow[] {
  const { agentId, open } = agent
  const known = kind === 'refresh' ? options.refreshes.known?.get(agentId) : undefined
  const { resumed, opened } = idWindows({ agentId, kind, ids, known, open, nowMs: options.nowMs })
  return [
    ...resumed.map(window => priced(window, true, agent, options)),
    ...opened.map(window => priced(window, false, agent, options)),
  ]
}

/** Returns the requested range of `ts`, in whole seconds. */
function requestedInterval({ sinceMs, untilMs, nowMs, settleMs }: PlanOptions): Interval {
  const until = untilMs === null ? nowMs - settleMs : Math.min(untilMs, nowMs - settleMs)
  // No request can carry a lower bound before EARLIEST_MS: a window that would need one has no lower bound.
  const from = sinceMs === null || sinceMs < EARLIEST_MS ? 0 : secondOf(sinceMs)
  // The second of `until` is excluded, since it may not be complete yet.
  return { from, to: secondOf(until) - 1 }
}

const scopeOf = ({ mode, untilMs }: PlanOptions): FullScope => ({
  agents: mode.kind === 'full' ? [...mode.agents].sort() : [],
  untilMs,
})

/** Returns the unfinished full export that the request continues. */
function resumedFullExport(options: PlanOptions): FullExport | null {
  const { agents, nowMs, mode, droppedMs = null } = options
  if (mode.kind !== 'full') return null
  const windows = agents.flatMap(({ full = [] }) => full)
  const there = agents.map(({ agentId }) => agentId)
  return resumableFullExport(newestFullExports(windows, droppedMs), {
    scope: scopeOf(options),
    from: requestedInterval(options).from,
    there,
    nowMs,
    continuesMs: options.continuesMs ?? null,
  })
}

/** Returns an agent's window of the continued or a new full export. */
function fullWindow(agent: AgentFacts, wanted: Interval, options: Planning): PlannedWindow[] {
  const { resumedFullExport: begun, nowMs } = options
  const { agentId } = agent
  const own = begun?.windows.find(({ window }) => window.agentId === agentId)
  if (own) return own.done ? [] : [priced(own, true, agent, options)]
  const fromSec = wanted.from <= 0 ? null : wanted.from
  const bounds = begun ?? { fromSec, toSec: wanted.to, openedAtMs: nowMs }
  const { toSec, openedAtMs } = bounds
  const full = scopeOf(options)
  const opened = openWindow({ agentId, kind: 'full', fromSec: bounds.fromSec, toSec, openedAtMs, full })
  return [priced(newProgress(opened), false, agent, options)]
}

interface Planning extends PlanOptions {
  resumedFullExport: FullExport | null
}

function windowsOf(agent: AgentFacts, options: Planning): PlannedWindow[] {
  const { agentId } = agent
  if (options.mode.kind === 'selected')
    return pricedIds(agent, 'selected', options.mode.ids.get(agentId) ?? [], options)
  const open = agent.open.filter(({ window }) => !isById(window.kind) && !agent.backingOff?.includes(window.name))
  // Windows with endless empty pages share the requests that a run may spend on them.
  const empty = open.filter(({ idle }) => idle >= MAX_IDLE_PAGES).length
  const resumed = open.map(progress =>
    priced(progress, true, agent, options, progress.idle < MAX_IDLE_PAGES ? 0 : MAX_IDLE_PAGES * (1 - 1 / empty)),
  )
  const wanted = requestedInterval(options)
  if (wanted.from > wanted.to) return resumed
  if (options.mode.kind === 'full') return [...resumed, ...fullWindow(agent, wanted, options)]
  const misled = (agent.gaps ?? []).filter(gap => gap.outOfRange)
  if (Math.max(agent.refusedUntilMs ?? 0, ...misled.map(gap => gap.retryAtMs)) > options.nowMs) return []
  const poll = pollSeconds(options.agents.length, options.requestsPerHour)
  const readable = { ...wanted, to: Math.min(wanted.to, (agent.active?.sinceSec ?? Number.POSITIVE_INFINITY) - 1) }
  const due = uncoveredRanges(agent, readable).filter(
    ({ kind, interval }) => kind !== 'head' || options.untilMs !== null || interval.to - interval.from + 1 >= poll,
  )
  const { refresh, sample } = options.refreshes
  return [
    ...resumed,
    ...due.map(({ kind, interval }) => {
      const window = newWindow(agent, kind, interval, options)
      const quiet = kind === 'head' ? quietFrom(agent.coverage, wanted.from, agent.seenThroughSec) : null
      if (quiet !== null) window.window.askFromSec = quiet <= 0 ? null : quiet
      return priced(misled.length > 0 ? { ...window, cap: FIRST_PAGE } : window, false, agent, options)
    }),
    ...dueGaps(agent.gaps ?? [], claimedBy(agent), wanted, options.nowMs).map(window =>
      priced(window, false, agent, options),
    ),
    ...pricedIds(agent, 'refresh', refresh.get(agentId) ?? [], options),
    ...pricedIds(agent, 'sample', sample.get(agentId) ?? [], options),
  ]
}

/** Returns windows for ranges that may hide conversations, except those that an unfinished window will still read. */
function rereads(agents: readonly AgentFacts[], options: PlanOptions): PlannedWindow[] {
  if (options.mode.kind !== 'incremental') return []
  const ahead = new Map(
    agents.map(({ agentId, open }) => [agentId, open.filter(({ window }) => !isById(window.kind)).map(aheadOf)]),
  )
  const ranges = options.refreshes.ranges.filter(({ agentId, fromSec, toSec }) =>
    ahead.get(agentId)?.every(({ from, to }) => (fromSec ?? 0) >= to || toSec <= from),
  )
  return planRereads({ ...options, ...options.refreshes, ranges }).map(planned => ({
    ...planned,
    resumes: false,
  }))
}

const KIND_ORDER: Record<WindowKind, number> = {
  selected: 0,
  head: 1,
  refresh: 2,
  reread: 3,
  sample: 4,
  tail: 5,
  full: 6,
}

/** Compares by kind; among heads, the one furthest behind comes first, among all others the newest. */
const inReadingOrder = (a: PlannedWindow, b: PlannedWindow): number => {
  const [x, y] = [a.progress.window, b.progress.window]
  if (x.kind !== y.kind) return KIND_ORDER[x.kind] - KIND_ORDER[y.kind]
  return x.kind === 'head' ? (x.fromSec ?? 0) - (y.fromSec ?? 0) : y.toSec - x.toSec
}

/** True if nothing of the agent was read. An agent that was read and has no conversations counts as known. */
const isUnknown = (agent: AgentFacts): boolean =>
  agent.density === null && agent.coverage.length === 0 && agent.open.every(({ pages }) => pages === 0)

function outlookOf(agents: readonly AgentFacts[], options: PlanOptions): Outlook {
  return {
    knownPerDay: knownPerDay(agents.flatMap(agent => (agent.density ? [agent.density] : []))),
    learned: (options.mode.kind === 'selected' ? [] : agents.filter(isUnknown)).map(({ agentId }) => ({
      agentId,
      perDay: null,
      conversations: 0,
    })),
  }
}

/** Plans a run. The same options always give the same plan. */
export function planWindows(options: PlanOptions): Plan {
  const { agents } = options
  const planning: Planning = { ...options, resumedFullExport: resumedFullExport(options) }
  let { gapSessions } = options
  const own = agents.flatMap(agent =>
    windowsOf(agent, planning).filter(({ resumes, progress }) => {
      if (resumes || !progress.window.gap) return true
      // Such a window begins with a page of one conversation.
      gapSessions -= agent.density?.mostSessions ?? 1
      return gapSessions >= 0
    }),
  )
  const windows = [...own, ...rereads(agents, options)].sort(inReadingOrder)
  const estimates = windows.flatMap(window => (window.estimate ? [window.estimate] : []))
  const active = agents.reduce((sum, agent) => sum + (agent.active?.conversations ?? 0), 0)
  return {
    windows,
    total: totalOf(estimates),
    unknown: windows.length - estimates.length,
    firstBackfills:
      options.mode.kind === 'selected'
        ? 0
        : agents.filter(agent => agent.coverage.length === 0 && agent.open.length === 0).length,
    ...(active > 0 && { active }),
    ...(options.refreshes.measured && { measured: options.refreshes.measured }),
    outlook: outlookOf(agents, options),
  }
}

const DAYS_OBSERVED = 28
export const observedSince = (nowMs: number): number => nowMs - DAYS_OBSERVED * DAY
