// The Steps port: the orchestration's interface to the outside world, as types. Inputs and results are plain JSON:
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
  /** Only these agents; empty for all. */
  agents: string[]
  sinceMs: number | null
  untilMs: number | null
  mode: 'incremental' | 'full' | 'selected'
  /** Conversations of a `selected` sync, by agent. */
  ids: IdsByAgent
  /**
   * Makes an incremental sync also export conversations again that were active within this time and whose copy is older
   * than the configured `quiet`. Null exports only those that are known to have changed.
   */
  refresh: { ageMs: number } | null
  maxRequests: number | null
  maxSessions: number | null
  allowedPacks: number
  /** Drops unfinished full exports. */
  dropFull?: boolean
  /** Names of the API resources to request besides agents and conversations; default: the configured ones. */
  resources?: readonly string[]
  /** False to stop at the rate limit instead of waiting. */
  wait: boolean
  /** Origin of the sync; default: a command. */
  origin?: Origin
  /** True for syncs of watch mode or a schedule: windows that make no progress then back off. */
  unattended?: boolean
  /** Set when the sync is planned again, so that conversations refreshed since its first plan are not exported a second time. */
  exporting?: Exporting
  /** False to refuse the start if the sync needs consent (it may use most of the quota); omitted if the host has asked the user. */
  consented?: boolean
}

/** First planning of a sync (`sinceMs`), and of the full export that it continues (`fullMs`), ms of the server's clock. */
export interface Exporting {
  sinceMs: number
  fullMs?: number
}

/** The result of planning, from which a run starts. */
export interface Prepared {
  plan: Plan
  /** The planned agents, with titles for people. */
  agents: { agentId: string; title: string | null }[]
  governor: GovernorState
  /** Time when the run was planned, on the server's clock, ms. */
  plannedAtMs: number
  /** Number of landed pages that are not loaded. */
  pagesWaiting: number
  /** True if the workspace has rows already, so that no first rows are awaited. */
  hasRows?: boolean
  /** Lead of the vendor's clock over ours, according to its answers, ms. */
  aheadMs: number
  /** Reason why the agents could not be listed; set only if the sync then has nothing to read. */
  failure?: Failure
  /** Warnings for people, such as a listing of agents that may be cut off; omitted for none. */
  warnings?: string[]
  /** Set if agents are or may be left out. */
  agentsLeftOut?: true
  /** The first known gaps; omitted for none. */
  gaps?: Gap[]
}

export interface RunRef extends Pick<SyncRequest, 'workspaceId' | 'run' | 'resources'>, PlannedFrom {}

/** The landing that a run was planned from. */
export interface PlannedFrom {
  /** Id of the landing: a worker with another landing refuses. Omitted before the run is planned, and if one process does everything. */
  landingId?: string
}

export interface FetchInput {
  request: RunRef
  progress: WindowProgress
  grant: Grant
  /** Lead of the vendor's clock over ours, as measured during planning, ms; omitted if the same process planned. */
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
  /** Number of conversations that the vendor scanned and did not return. */
  skipped?: number
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
  /** Number of new events. */
  events: number
  /** Number of events that were read, including known ones. */
  taken: number
  /** Number of sealed segments that are still to be drained. */
  waiting: number
}

/** The steps for ingesting events; none of them uses the API token. */
export interface IngestSteps {
  /** Applies sealed segments, as many as fit into one step. */
  drain(input: { workspaceId: string }): Promise<DrainOutcome>
  /** Returns why events have not reached the tables since the last complete drain; null if they have. */
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
  /** Number of answers that failed or never arrived; `sessions` excludes the sessions that they may have billed. */
  lostAnswers: number
  lostSessions: number
  agentsGone: string[]
  /** Number of records and events that could not be loaded, since the previous run; omitted for none. */
  quarantined?: number
  /** Number of webhook events that receivers have refused, since the previous run; omitted for none. */
  webhooksRefused?: number
  /** Set if history waits although sessions are left, because they are reserved for new conversations. */
  reserve?: Reserve
  /** The vendor's last failure, if no answer followed it and the run ended before it gave up. */
  unanswered?: Failure
  /** Set if new conversations are also left unread. */
  newLeft?: true
  /** Warnings for people; omitted for none. */
  warnings?: string[]
  /** Set if agents were or may have been left out. */
  agentsLeftOut?: true
  /** Number of conversations whose first export waits; omitted for none. */
  active?: number
  /** Number of conversations that were skipped since no person had written in them; omitted for none. */
  skipped?: number
  /** Number of conversation records in the quarantine; omitted for none. */
  unusable?: number
  /** The first gaps that are known at the end; omitted for none. */
  gaps?: Gap[]
  /** Ranges in which pages may have shifted during reading, and that have not been read again yet; omitted for none. */
  unverified?: ReadRange[]
  /** Failures that ended a window or the run; the first one is shown. */
  failures: (Failure & { agentId: string | null })[]
}

/** Facts that are known only when a run has ended. */
export interface Finished {
  /** Number of records and events that were quarantined since the previous run. */
  quarantined: number
  /** Number of webhook events that were refused since the previous run. */
  refused: number
  /** The failure, if organizations or teams could not be listed. */
  unnamed?: Failure
  /** The failure, if the compaction or expiry of files failed; the sync does not depend on it. */
  upkeep?: Failure
  /** Checks of the tables that now fail and did not before; omitted for none. */
  checks?: FailedCheck[]
  /** Names of the user's models that now fail and did not before; omitted for none. */
  models?: string[]
  /** Number of windows that a sync without flags continues. */
  windowsUnfinished: number
  /** The first ranges that are not verified; omitted for none. */
  unverified?: ReadRange[]
  /** Number of conversations whose first export waits until they are quiet. */
  active?: number
  /** Number of conversation records in the quarantine. */
  unusable?: number
  /** The first known gaps; omitted for none. */
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
  /** Starts at the window's frontier and makes at most the granted requests. Each page is durable before the next request. */
  fetchPages(input: FetchInput): Promise<LeaseOutcome>
  /** Requests an empty window: the answer reports usage and bills nothing. */
  probe(input: ProbeInput): Promise<LeaseAnswers>
  /** Loads one batch of the oldest landed pages that are not loaded. */
  load(input: { workspaceId: string }): Promise<LoadOutcome>
  /** Ends the run with this report, and returns additions to the report; nothing if the user has declined the plan. */
  finish(input: { request: RunRef; report: SyncReport }): Promise<Finished | undefined>
}
