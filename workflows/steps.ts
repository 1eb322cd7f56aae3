// The Steps port: everything that the orchestration asks of the world, as types only. Inputs and results are plain JSON:
// references and counts, never records, never a token.
import type { ErrorCode, ErrorKind } from '../src/core/errors.ts'
import type { Answer, GovernorState, Grant } from '../src/core/governor.ts'
import type { Plan } from '../src/core/planner.ts'
import type { Origin, Reserve } from '../src/core/run-record.ts'
import type { WindowProgress } from '../src/core/windows.ts'

/** What a sync was asked to do. */
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
   * What an incremental sync buys again: these conversations, and, with an age, those that were active within it and whose
   * copy is older than the configured `quiet`. Null: only what is known to have changed.
   */
  refresh: { ids: Record<string, string[]>; ageMs: number | null } | null
  maxRequests: number | null
  maxSessions: number | null
  allowedPacks: number
  /** Drops full exports that were begun and not finished. */
  dropFull?: boolean
  /** False: stop where the hour is spent, instead of waiting. */
  wait: boolean
  /** Who asked; absent from clients of before. */
  origin?: Origin
  /** True where it came by itself, as a watch's or a schedule's do: windows that come no further rest meanwhile. */
  unattended?: boolean
  /** Where it is planned anew: what it has exported again since its first plan is not exported once more. */
  exporting?: Exporting
  /** False: it is not begun where it may take most of a period; absent where the host has asked. */
  consented?: boolean
}

/** When a sync was first planned and, where it is a full export, which one it goes on with: by when that was planned. Server's clock, ms. */
export interface Exporting {
  sinceMs: number
  fullMs?: number
}

/** What a run starts from. */
export interface Prepared {
  plan: Plan
  /** The agents that it was planned for, with their titles for people. */
  agents: { agentId: string; title: string | null }[]
  governor: GovernorState
  /** When it was planned, on the server's clock, ms; absent from workers of before. */
  plannedAtMs?: number
  /** Landed pages that no load has taken yet. */
  pagesWaiting: number
  /** The workspace has rows already: nobody waits for the first. Older workers do not tell, nor do their histories. */
  hasRows?: boolean
  /** How far the vendor's clock is ahead of ours, as far as its answers told, ms. */
  aheadMs: number
  /** Why the agents could not be listed, where nothing else is asked for: then nothing has been read. */
  failure?: Failure
  /** What a person should know of it, such as a listing of agents that may be cut off; absent where there is nothing. */
  warnings?: string[]
}

/** Which run it is done for. */
export type RunRef = Pick<SyncRequest, 'workspaceId' | 'run'>

export interface FetchInput {
  request: RunRef
  progress: WindowProgress
  grant: Grant
  /** What planning learnt of the vendor's clock; a process that planned itself knows. */
  aheadMs?: number
}

export interface ProbeInput {
  request: RunRef
  agentId: string
  grant: Grant
  aheadMs?: number
}

/** A failure as data: hosts tell people, and decide by code. */
export interface Failure {
  code: ErrorCode
  kind: ErrorKind
  what: string
  hint: string | null
}

/** What a lease brought; also all that a probe brings. */
export interface LeaseAnswers {
  /** What each request told, in order. */
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
  /** Conversations, and what else lands: the listing of the agents. */
  records: number
  /** Landed pages still to be loaded. */
  waiting: number
}

/** What draining the spool once has brought. */
export interface DrainOutcome {
  /** Events that were new. */
  events: number
  /** Those that were read, known ones among them. */
  taken: number
  /** Sealed segments that are left. */
  waiting: number
}

/** What events need; no token. */
export interface IngestSteps {
  /** Applies what the spool has sealed, as much as fits into one step. */
  drain(input: { workspaceId: string }): Promise<DrainOutcome>
  /** Why events do not reach the tables, since the last draining that left nothing behind; null where they do. */
  failing(): { code: string; what: string; hint: string | null; nextMs: number } | null
}

export interface SyncReport {
  run: string
  /** `preempted`: newer work came first; history is left to the next round, or to the next leg of the same sync. */
  outcome: 'done' | 'hour-spent' | 'period-spent' | 'limit-reached' | 'preempted' | 'failed' | 'interrupted'
  requests: number
  sessions: number
  pages: number
  conversations: number
  windowsDone: number
  windowsLeft: number
  /** Pages that billed more than their lease still held. */
  breaches: number
  /** Answers that never came whole, and how many sessions they may have billed: they are not among `sessions`. */
  lostAnswers: number
  lostSessions: number
  agentsGone: string[]
  /** Records and events that could not be loaded, since the run before it; absent: none. */
  quarantined?: number
  /** Webhook events that receivers have refused since the run before it; absent: none. */
  webhooksRefused?: number
  /** History was left though sessions are left: they are kept for new conversations. */
  reserve?: Reserve
  /** Why the vendor's last answers did not come, where it ended before one came again, and before it gave up. */
  unanswered?: Failure
  /** New conversations are left to be read, too. */
  newLeft?: true
  /** What a person should know though nothing failed; absent where there is nothing. */
  warnings?: string[]
  /** Failures that ended a window or the run; the first is the one to tell. */
  failures: (Failure & { agentId: string | null })[]
}

/** What is known once a run is over. */
export interface Finished {
  /** Records and events that were quarantined since the run before it. */
  quarantined: number
  /** Webhook events that were refused since the run before it. Workers of before do not tell. */
  refused?: number
  /** Why organizations or teams could not be asked for. */
  unnamed?: Failure
}

export interface Steps {
  /** Lists agents, reads what landed and what the ledger tells, and plans. */
  prepare(request: SyncRequest): Promise<Prepared>
  /** Begins at the window's frontier and makes at most the granted requests; each page is durable before the next is asked. */
  fetchPages(input: FetchInput): Promise<LeaseOutcome>
  /** Asks for a window that can hold nothing: tells usage, bills nothing. */
  probe(input: ProbeInput): Promise<LeaseAnswers>
  /** Loads the oldest landed pages that are not loaded, one batch. */
  load(input: { workspaceId: string }): Promise<LoadOutcome>
  /** Ends the run with that report; what it adds to it. Older workers add nothing. */
  finish(input: { request: RunRef; report: SyncReport }): Promise<Finished | undefined>
}
