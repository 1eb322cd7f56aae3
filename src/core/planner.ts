// The planner: from what is covered, what is open and what was asked to the windows to read, in order, with their price.
// Pure: `convohouse plan` prints exactly what `sync` executes.
//
//   since ──────────── tail (descending) ────────────┐ ┌── covered ──┐ ┌─ head (ascending) ─┐ settle │ now
//
// Head begins where coverage ends. Everything before that is tail, newest first: the newest history comes at the fewest
// requests. What an unfinished window claims is not planned twice.
import { type Coverage, cover, gaps, type Interval } from './coverage.ts'
import { type Density, type Estimate, estimateIds, estimateStretch, projectedSessions, totalOf } from './estimate.ts'
import { DAY } from './time.ts'
import { openWindow, startOf, type WindowKind, type WindowProgress } from './windows.ts'

export interface AgentFacts {
  agentId: string
  title: string | null
  /** Gone by the vendor's word: nothing is asked of it. */
  gone: boolean
  coverage: Coverage
  /** Windows that were begun and not finished, oldest first. */
  open: readonly WindowProgress[]
  density: Density | null
}

export interface PlanOptions {
  agents: readonly AgentFacts[]
  /** The server's clock, ms. */
  nowMs: number
  settleMs: number
  sinceMs: number | null
  untilMs: number | null
  /** `full` reads everything again; `selected` reads conversations by id. */
  mode:
    | { kind: 'incremental' }
    | { kind: 'full' }
    | { kind: 'selected'; ids: Readonly<Record<string, readonly string[]>> }
  maxPage: number
  idsPerRequest: number
  requestsPerHour: number
  periodAgeMs: number | null
}

export interface PlannedWindow {
  progress: WindowProgress
  /** True for a window that an earlier run began. */
  resumes: boolean
  estimate: Estimate | null
}

export interface Plan {
  windows: PlannedWindow[]
  /** Of the windows that can be priced. */
  total: Estimate
  /** Windows that cannot. */
  unknown: number
  /** Agents whose history has never been read. */
  firstBackfills: number
  /** Sessions that new conversations may take until the period is over. */
  projectedSessions: number
}

/** Share of the hour that polls for new conversations may take; the rest is the tail's. */
const HEAD_SHARE = 0.8

/** Ids in one selected window: each of its pages carries the window, ids and all. */
const IDS_A_WINDOW = 1_000

/** After a day, what an unfinished selection has brought is no longer what was asked for. */
const RESUMES_WITHIN_MS = DAY

const second = (ms: number): number => Math.floor(ms / 1_000)

const claimOf = ({ window }: WindowProgress): Interval => ({ from: window.fromSec ?? 0, to: window.toSec })

function stretches(agent: AgentFacts, wanted: Interval): { kind: WindowKind; interval: Interval }[] {
  const claimed = agent.open
    .filter(open => open.window.kind !== 'selected')
    .reduce((all, open) => cover(all, claimOf(open)), agent.coverage)
  const end = claimed.at(-1)?.to
  return gaps(claimed, wanted).map(interval => ({
    kind: end !== undefined && interval.from > end ? 'head' : 'tail',
    interval,
  }))
}

/**
 * Seconds between two polls of an agent: where agents times polls exceed the hour, each waits its turn.
 * Stalest first, so nobody starves.
 */
export const pollSeconds = (agents: number, requestsPerHour: number): number =>
  Math.floor((agents / Math.max(1, requestsPerHour * HEAD_SHARE)) * 3_600)

function priced(progress: WindowProgress, resumes: boolean, agent: AgentFacts, options: PlanOptions): PlannedWindow {
  const { window } = progress
  const from = progress.lastTsMs !== null && window.kind === 'head' ? second(progress.lastTsMs) : window.fromSec
  const to =
    progress.lastTsMs !== null && window.kind !== 'head'
      ? Math.min(window.toSec, second(progress.lastTsMs))
      : window.toSec
  const estimate =
    window.kind === 'selected'
      ? estimateIds(agent.density, (window.ids?.length ?? 0) - progress.asked, options.idsPerRequest)
      : estimateStretch(agent.density, from === null ? null : to - from + 1, options.maxPage)
  return { progress, resumes, estimate }
}

function newWindow(agent: AgentFacts, kind: WindowKind, interval: Interval, options: PlanOptions): WindowProgress {
  return startOf(
    openWindow({
      agentId: agent.agentId,
      kind,
      fromSec: interval.from <= 0 ? null : interval.from,
      toSec: interval.to,
      openedAtMs: options.nowMs,
    }),
  )
}

/** Ids that a run was killed over are not bought twice when the same ones are asked for again soon. */
function selectedWindows(agent: AgentFacts, ids: readonly string[], options: PlanOptions): PlannedWindow[] {
  const asked = new Set(ids)
  const resumed = agent.open.filter(
    ({ window }) =>
      window.kind === 'selected' &&
      window.openedAtMs > options.nowMs - RESUMES_WITHIN_MS &&
      window.ids!.every(id => asked.has(id)),
  )
  for (const id of resumed.flatMap(open => open.window.ids!)) asked.delete(id)
  const left = [...asked]
  const chunks = Array.from({ length: Math.ceil(left.length / IDS_A_WINDOW) }, (_, index) =>
    left.slice(index * IDS_A_WINDOW, (index + 1) * IDS_A_WINDOW),
  )
  const opened = chunks.map((chunk, index) =>
    openWindow({
      agentId: agent.agentId,
      kind: 'selected',
      fromSec: null,
      toSec: 0,
      openedAtMs: options.nowMs + index,
      ids: chunk,
    }),
  )
  return [
    ...resumed.map(open => priced(open, true, agent, options)),
    ...opened.map(window => priced(startOf(window), false, agent, options)),
  ]
}

function windowsOf(agent: AgentFacts, options: PlanOptions): PlannedWindow[] {
  if (options.mode.kind === 'selected') return selectedWindows(agent, options.mode.ids[agent.agentId] ?? [], options)
  const resumed = agent.open.map(open => priced(open, true, agent, options))
  const until =
    options.untilMs === null
      ? options.nowMs - options.settleMs
      : Math.min(options.untilMs, options.nowMs - options.settleMs)
  // The last second is open until it has passed.
  const wanted = { from: options.sinceMs === null ? 0 : second(options.sinceMs), to: second(until) - 1 }
  if (wanted.from > wanted.to) return resumed
  if (options.mode.kind === 'full') {
    if (agent.open.some(open => open.window.kind === 'full')) return resumed
    return [...resumed, priced(newWindow(agent, 'full', wanted, options), false, agent, options)]
  }
  const poll = pollSeconds(options.agents.length, options.requestsPerHour)
  const due = stretches(agent, wanted).filter(
    ({ kind, interval }) => kind !== 'head' || options.untilMs !== null || interval.to - interval.from + 1 >= poll,
  )
  return [
    ...resumed,
    ...due.map(({ kind, interval }) => priced(newWindow(agent, kind, interval, options), false, agent, options)),
  ]
}

const ORDER: Record<WindowKind, number> = { selected: 0, head: 1, tail: 2, full: 3 }

/** Selected first, then heads, stalest first, then history, newest first. */
const byTurn = (a: PlannedWindow, b: PlannedWindow): number => {
  const [x, y] = [a.progress.window, b.progress.window]
  if (x.kind !== y.kind) return ORDER[x.kind] - ORDER[y.kind]
  return x.kind === 'head' ? (x.fromSec ?? 0) - (y.fromSec ?? 0) : y.toSec - x.toSec
}

/** Plans a run. Deterministic in its options. */
export function planWindows(options: PlanOptions): Plan {
  const present = options.agents.filter(agent => !agent.gone)
  const windows = present.flatMap(agent => windowsOf(agent, { ...options, agents: present })).sort(byTurn)
  const estimates = windows.flatMap(window => (window.estimate ? [window.estimate] : []))
  return {
    windows,
    total: totalOf(estimates),
    unknown: windows.length - estimates.length,
    firstBackfills:
      options.mode.kind === 'incremental'
        ? present.filter(agent => agent.coverage.length === 0 && agent.open.length === 0).length
        : 0,
    projectedSessions: projectedSessions(
      present.flatMap(agent => (agent.density ? [agent.density] : [])),
      options.periodAgeMs,
    ),
  }
}

/** True where a plan may take most of what a period includes, as far as can be said. */
export function takesMostOfPeriod(plan: Plan, includedSessions: number): boolean {
  return plan.firstBackfills > 0 && plan.total.sessions.high > includedSessions / 2
}

export const DAYS_OBSERVED = 28
export const observedSince = (nowMs: number): number => nowMs - DAYS_OBSERVED * DAY
