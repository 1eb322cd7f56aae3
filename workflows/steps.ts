// The Steps port: everything that the orchestration needs from the outside world, as types. Inputs and results are plain JSON:
// references and counts, never records, never a token.
import type { ErrorCode, ErrorKind } from '../src/core/errors.ts'
import type { Answer, GovernorState, Grant } from '../src/core/governor/governor.ts'
import type { Plan } from '../src/core/planning/planner.ts'
import type { WindowProgress } from '../src/core/planning/windows.ts'
import type { Origin, Reserve } from '../src/core/run-record.ts'

/** A requested sync. */
export interface SyncRequest {
  workspaceId: string
  run: string
  /** Only these agents; empty: all. */
  agents: string[]
  sinceMs: number | null
  untilMs: number | null
  mode: 'incremental' | 'full' | 'selected'
  /** Conversations of a `selected` sync, by agent. */
  ids: Record<string, string[]>
  /**
   * Conversations that an incremental sync exports again: these and, with an age, those that were active within it and whose copy is
   * older than the configured `quiet`. Null: only those that are known to have changed.
   */
  refresh: { ids: Record<string, string[]>; ageMs: number | null } | null
  maxRequests: number | null
  maxSessions: number | null
  allowedPacks: number
  /** Drops unfinished full exports. */
  dropFull?: boolean
  /** False: stop at the rate limit instead of waiting. */
  wait: boolean
  /** Absent from older clients. */
  origin?: Origin
  /** True for syncs of a watch or a schedule: windows that make no progress then back off. */
  unattended?: boolean
  /** Set when the sync is planned again: conversations that it has refreshed since its first plan are not exported once more. */
  exporting?: Exporting
  /** False: refuse to start if it may take most of the quota; absent where the host has asked the user. */
  consented?: boolean
}

/** When a sync was first planned and, for a full export, when the export that it continues was planned. Server's clock, ms. */
export interface Exporting {
  sinceMs: number
  fullMs?: number
}

/** The start of a run. */
export interface Prepared {
  plan: Plan
  /** The planned agents, with titles for people. */
  agents: { agentId: string; title: string | null }[]
  governor: GovernorState
  /** When it was planned, on the server's clock, ms; absent from older workers. */
  plannedAtMs?: number
  /** Landed pages that are not loaded. */
  pagesWaiting: number
  /** The workspace has rows already: nobody waits for the first. Absent from older workers. */
  hasRows?: boolean
  /** How far the vendor's clock is ahead of ours, by its answers, ms. */
  aheadMs: number
  /** Why the agents could not be listed, if nothing else was requested: then nothing was read. */
  failure?: Failure
  /** Warnings for people, such as a listing of agents that may be cut off; absent: none. */
  warnings?: string[]
}

export type RunRef = Pick<SyncRequest, 'workspaceId' | 'run'>

export interface FetchInput {
  request: RunRef
  progress: WindowProgress
  grant: Grant
  /** The vendor's clock, as planning learnt it; absent where the same process planned. */
  aheadMs?: number
}

export interface ProbeInput {
  request: RunRef
  agentId: string
  grant: Grant
  aheadMs?: number
}

/** A failure as data: `what` and `hint` are shown; `code` and `kind` decide how the run continues. */
export interface Failure {
  code: ErrorCode
  kind: ErrorKind
  what: string
  hint: string | null
}

/** The answers under a lease; a probe brings nothing else. */
export interface LeaseAnswers {
  /** Of each request, in order. */
  answers: Answer[]
  failure: Failure | null
}

export interface LeaseOutcome extends LeaseAnswers {
  progress: WindowProgress
  pages: number
  conversations: number
}

export interface LoadOutcome {
  pages: number
  /** Conversations and other records, such as agents. */
  records: number
  /** Landed pages that are left. */
  waiting: number
}

/** One drain of the spool. */
export interface DrainOutcome {
  /** New events. */
  events: number
  /** Events that were read, including known ones. */
  taken: number
  /** Sealed segments that are left. */
  waiting: number
}

/** The steps that events need; they use no token. */
export interface IngestSteps {
  /** Applies sealed segments, as many as fit into one step. */
  drain(input: { workspaceId: string }): Promise<DrainOutcome>
  /** Why events do not reach the tables, since the last complete drain; null where they do. */
  failing(): { code: string; what: string; hint: string | null; nextMs: number } | null
}

export interface SyncReport {
  run: string
  /** `preempted`: other work came first; history is left to the next round, or to the next plan of the same sync. */
  outcome: 'done' | 'hour-spent' | 'period-spent' | 'limit-reached' | 'preempted' | 'failed' | 'interrupted'
  requests: number
  sessions: number
  pages: number
  conversations: number
  windowsDone: number
  windowsLeft: number
  /** Pages that billed more than was left of their lease. */
  breaches: number
  /** Answers that never arrived completely, and sessions that they may have billed; not part of `sessions`. */
  lostAnswers: number
  lostSessions: number
  agentsGone: string[]
  /** Records and events that could not be loaded, since the previous run; absent: none. */
  quarantined?: number
  /** Webhook events that receivers have refused, since the previous run; absent: none. */
  webhooksRefused?: number
  /** History waits although sessions are left: they are reserved for new conversations. */
  reserve?: Reserve
  /** The vendor's last failure, if the run ended without another answer and before it gave up. */
  unanswered?: Failure
  /** New conversations are left, too. */
  newLeft?: true
  /** Warnings for people; absent: none. */
  warnings?: string[]
  /** Failures that ended a window or the run; the first one is shown. */
  failures: (Failure & { agentId: string | null })[]
}

/** Known once a run is over. */
export interface Finished {
  /** Records and events that were quarantined since the previous run. */
  quarantined: number
  /** Webhook events that were refused since the previous run. Absent from older workers. */
  refused?: number
  /** Why organizations or teams could not be listed. */
  unnamed?: Failure
}

export interface Steps {
  /** Lists agents, reads landing and lease log, and plans. */
  prepare(request: SyncRequest): Promise<Prepared>
  /** Starts at the window's frontier and makes at most the granted requests; each page is durable before the next request. */
  fetchPages(input: FetchInput): Promise<LeaseOutcome>
  /** Requests a window that can hold nothing: reports usage, bills nothing. */
  probe(input: ProbeInput): Promise<LeaseAnswers>
  /** Loads one batch: the oldest landed pages that are not loaded. */
  load(input: { workspaceId: string }): Promise<LoadOutcome>
  /** Ends the run with that report, and returns additions to it. Older workers return nothing. */
  finish(input: { request: RunRef; report: SyncReport }): Promise<Finished | undefined>
}
