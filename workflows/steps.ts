// The Steps port: everything that the orchestration needs from the outside world, as types. Inputs and results are plain JSON:
// references and counts, never records, never a token.
import type { ErrorCode, ErrorKind } from '../src/core/errors.ts'
import type { GovernorState, Grant } from '../src/core/governor/governor.ts'
import type { Answer } from '../src/core/governor/lease-entries.ts'
import type { Gap } from '../src/core/planning/gaps.ts'
import type { IdsByAgent } from '../src/core/planning/id-windows.ts'
import type { Plan } from '../src/core/planning/planner.ts'
import type { ReadRange } from '../src/core/planning/rereads.ts'
import type { WindowProgress } from '../src/core/planning/windows.ts'
import type { Origin, Reserve } from '../src/core/run-record.ts'

/** A request for a sync. */
export interface SyncRequest {
  workspaceId: string
  run: string
  /** Only these agents; empty: all. */
  agents: string[]
  sinceMs: number | null
  untilMs: number | null
  mode: 'incremental' | 'full' | 'selected'
  /** Conversations of a `selected` sync, by agent. */
  ids: IdsByAgent
  /**
   * An incremental sync also exports again what was active within this time and whose copy is older than the configured `quiet`. Null: only
   * what is known to have changed.
   */
  refresh: { ageMs: number } | null
  maxRequests: number | null
  maxSessions: number | null
  allowedPacks: number
  /** Drops unfinished full exports. */
  dropFull?: boolean
  /** Names of the API resources to request besides agents and conversations; absent: the configured ones. */
  resources?: readonly string[]
  /** False: stop at the rate limit instead of waiting. */
  wait: boolean
  /** Who requested the sync; absent: a command. */
  origin?: Origin
  /** True for syncs of watch mode or a schedule: windows that make no progress then back off. */
  unattended?: boolean
  /** Set when the sync is planned again: conversations refreshed since its first plan are not exported a second time. */
  exporting?: Exporting
  /** False: refuse to start if the sync needs consent (it may use most of the quota); absent where the host has asked the user. */
  consented?: boolean
}

/** When a sync was first planned (`sinceMs`), and when the full export that it continues was planned (`fullMs`). Server's clock, ms. */
export interface Exporting {
  sinceMs: number
  fullMs?: number
}

/** The result of planning: everything that a run starts from. */
export interface Prepared {
  plan: Plan
  /** The planned agents, with titles for people. */
  agents: { agentId: string; title: string | null }[]
  governor: GovernorState
  /** When the run was planned, on the server's clock, ms. */
  plannedAtMs: number
  /** Landed pages that are not loaded. */
  pagesWaiting: number
  /** True if the workspace has rows already, so that no first rows are awaited. */
  hasRows?: boolean
  /** How far the vendor's clock is ahead of ours, according to its answers, ms. */
  aheadMs: number
  /** Why the agents could not be listed; set only where the sync then has nothing to read. */
  failure?: Failure
  /** Warnings for people, such as a listing of agents that may be cut off; absent: none. */
  warnings?: string[]
  /** Set where agents are left out, or may be. */
  agentsLeftOut?: true
  /** The first known gaps; absent: none. */
  gaps?: Gap[]
}

export interface RunRef extends Pick<SyncRequest, 'workspaceId' | 'run' | 'resources'>, PlannedFrom {}

/** The landing that a run was planned from. */
export interface PlannedFrom {
  /** Its id: a worker whose landing has another one refuses. Absent before the run is planned, and where one process does everything. */
  landingId?: string
}

export interface FetchInput {
  request: RunRef
  progress: WindowProgress
  grant: Grant
  /** How far the vendor's clock is ahead of ours, as measured during planning, ms; absent where the same process planned. */
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

/** The answers that arrived under a lease; the complete outcome of a probe. */
export interface LeaseAnswers {
  /** The answer to each request, in order. */
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
  /** Number of loaded conversations and other records, such as agents. */
  records: number
  /** Number of landed pages that are still to be loaded. */
  waiting: number
}

/** The outcome of one drain of the spool. */
export interface DrainOutcome {
  /** New events. */
  events: number
  /** Events that were read, including known ones. */
  taken: number
  /** Number of sealed segments that are still to be drained. */
  waiting: number
}

/** The steps for ingesting events; none of them uses the API token. */
export interface IngestSteps {
  /** Applies sealed segments, as many as fit into one step. */
  drain(input: { workspaceId: string }): Promise<DrainOutcome>
  /** Why events have not reached the tables since the last complete drain; null if they do. */
  failing(): { code: string; what: string; hint: string | null; nextMs: number } | null
}

export interface SyncReport {
  run: string
  /** `preempted`: other work took precedence; history is left to the next round, or to the next plan of the same sync. */
  outcome: 'done' | 'hour-spent' | 'period-spent' | 'limit-reached' | 'preempted' | 'failed' | 'interrupted'
  requests: number
  sessions: number
  pages: number
  conversations: number
  windowsDone: number
  windowsLeft: number
  /** Number of pages that billed more sessions than their lease had left. */
  breaches: number
  /** Answers that failed or never arrived completely, and sessions that they may have billed; not part of `sessions`. */
  lostAnswers: number
  lostSessions: number
  agentsGone: string[]
  /** Records and events that could not be loaded, since the previous run; absent: none. */
  quarantined?: number
  /** Webhook events that receivers have refused, since the previous run; absent: none. */
  webhooksRefused?: number
  /** Set where history waits although sessions are left, because they are reserved for new conversations. */
  reserve?: Reserve
  /** The vendor's last failure, if no answer came after it and the run ended before it gave up. */
  unanswered?: Failure
  /** Set where new conversations are left unread, too. */
  newLeft?: true
  /** Warnings for people; absent: none. */
  warnings?: string[]
  /** Set where agents were left out, or may have been. */
  agentsLeftOut?: true
  /** Number of conversations whose first export waits; absent: none. */
  active?: number
  /** Number of conversation records in the quarantine; absent: none. */
  unusable?: number
  /** The first gaps that are known at the end; absent: none. */
  gaps?: Gap[]
  /** Ranges in which pages may have shifted while they were read, and that are not read again yet; absent: none. */
  unverified?: ReadRange[]
  /** Failures that ended a window or the run; the first one is shown. */
  failures: (Failure & { agentId: string | null })[]
}

/** Facts that are known only when a run has ended. */
export interface Finished {
  /** Records and events that were quarantined since the previous run. */
  quarantined: number
  /** Webhook events that were refused since the previous run. */
  refused: number
  /** Set where organizations or teams could not be listed: the failure. */
  unnamed?: Failure
  /** Set where the compaction or expiry of files failed: nothing of the sync depends on it. */
  upkeep?: Failure
  /** Checks of the tables that have begun to fail; absent: none. */
  checks?: FailedCheck[]
  /** Names of the user's models that have begun to fail; absent: none. */
  models?: string[]
  /** Number of windows that a sync without flags continues. */
  windowsUnfinished: number
  /** The first ranges that are not verified; absent: none. */
  unverified?: ReadRange[]
  /** Number of conversations whose first export waits until they are quiet. */
  active?: number
  /** Number of conversation records in the quarantine. */
  unusable?: number
  /** The first known gaps; absent: none. */
  gaps?: Gap[]
}

export interface FailedCheck {
  name: string
  /** `failed`: rows break its rule. `broken`: it cannot run. */
  outcome: string
}

export interface Steps {
  /** Lists agents, reads landing and lease log, and plans. */
  prepare(request: SyncRequest): Promise<Prepared>
  /** Starts at the window's frontier and makes at most the granted requests; each page is durable before the next request. */
  fetchPages(input: FetchInput): Promise<LeaseOutcome>
  /** Requests a window that can contain nothing: the answer reports usage and bills nothing. */
  probe(input: ProbeInput): Promise<LeaseAnswers>
  /** Loads one batch: the oldest landed pages that are not loaded. */
  load(input: { workspaceId: string }): Promise<LoadOutcome>
  /** Ends the run with this report, and returns additions to the report; nothing where the user has declined the plan. */
  finish(input: { request: RunRef; report: SyncReport }): Promise<Finished | undefined>
}
