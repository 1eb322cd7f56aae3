// The governor decides which windows may send requests to the vendor, how many, and for how many sessions. It is a reducer: (state,
// event, now) in, a new state and a decision out; time, ids and answers are arguments. One governor owns a workspace's quota.
//
//              429, or the vendor fails a minute has passed: one lease of one request
//      open ───────────────────────────────▶ paused ─────────────────────────────────────────────────▶ probing
//       ▲ ▲ │
//       │ └────────────────── 429, or it fails again ────────────────┤
//       └────────────────────────────────────────────────────────── an answer ────────────────────────────┘
//
// Requests and sessions are leased: they count as spent until their lease ends. Before the first usage report the only lease is a
// probe: a request for an empty window, which bills nothing. As sessions run out, pages get smaller. A request that never reached the
// vendor costs nothing; sessions that a lost answer may have billed are held back until a usage report.
//
// Reserves: a part of the rate limit for people, refreshes and new conversations; a part of the quota for new conversations; and a few
// sessions per lease in case a page bills more than expected: the lease then requests no further page, and the reserve prevents
// overage. The reserve for new conversations covers the period's remaining days at the known rate. The first page of an agent without
// a known rate shows it: these pages come first, use no reserve of others, and are small where many agents share few sessions.
import { NO_OUTLOOK, type Outlook, updateOutlook } from '../planning/estimate.ts'
import type { WindowKind, WindowProgress } from '../planning/windows.ts'
import { applyUsage, type GrantedPeriod, grantedPeriod } from '../quota/billing-period.ts'
import { countBilled, holdPending, newQuota, type QuotaState, resolvesAtMs } from '../quota/quota.ts'
import { isVendorFailure, sanitizeAnswer } from '../quota/reported-usage.ts'
import { MINUTE } from '../time.ts'
import type { Answer } from './lease-entries.ts'
import { type AgentBills, pageSessions, pageSize, surpriseReserve, withPage } from './page-size.ts'
import {
  applyReportedLimit,
  countRequest,
  newRateLimit,
  nextFreeRequestMs,
  type RateLimitState,
  requestsLeft,
  requestsThisHour,
} from './rate-limit.ts'
import { learningSessions, runSessions, sessionsFor, unseenSessions, withPacks } from './session-budget.ts'

export interface GovernorOptions {
  hourMs: number
  /** The limit that is assumed until the vendor reports another one. */
  requestsPerHour: number
  /** Share of the rate limit that is reserved for conversations requested by id. */
  hourReserveShare: number
  /** Share of the included sessions that is reserved for new conversations; null reserves as many as they are expected to need. */
  headReserveShare: number | null
  allowedPacks: number
  /** True if a person allowed the packs for this run: history may use them on top of the usage at that time. Default: false. */
  packsForHistory?: boolean
  maxRequests: number | null
  maxSessions: number | null
  maxPage: number
  leaseMs: number
  polledAgents: number
}

const GOVERNOR_DEFAULTS: GovernorOptions = {
  hourMs: 60 * MINUTE,
  requestsPerHour: 1_500,
  hourReserveShare: 0.02,
  headReserveShare: 0,
  allowedPacks: 0,
  maxRequests: null,
  maxSessions: null,
  maxPage: 100,
  leaseMs: 10 * MINUTE,
  polledAgents: 1,
}

export interface Lease {
  id: string
  agentId: string
  kind: WindowKind | 'probe'
  requests: number
  /** Number of requests that are known to have been made. */
  made: number
  sessions: number
  billed: number
  /** Sessions that one page of this lease is expected to bill. */
  pageSessions: number
  deadlineMs: number
}

type Mode = 'open' | 'paused' | 'probing'

export interface GovernorState {
  options: GovernorOptions
  mode: Mode
  /** Time when the answer that caused the pause arrived. Answers to earlier requests do not end the pause. */
  pausedSinceMs: number
  pausedUntilMs: number
  /** The last lease of one request that was granted while paused; omitted if there was none. */
  probe?: string
  rateLimit: RateLimitState
  quota: QuotaState
  leases: readonly Lease[]
  /** Times when the probes of the last hour were granted, ms, oldest first. */
  probes: readonly number[]
  /** Requests and sessions spent by this run; limited by `--max-requests` and `--max-sessions`. */
  spent: { requests: number; sessions: number }
  /** Answers of this run that never arrived or failed, and the sessions that they may have billed. */
  lost: { answers: number; sessions: number }
  /** Bills of each agent's conversations. */
  agents: readonly AgentBills[]
  /** Number of pages that billed more sessions than their lease had left. */
  breaches: number
  /** Expected use by new conversations. */
  outlook: Outlook
  /** The period and its used sessions when packs were allowed for history. */
  packsFrom?: { key: string | null; sessions: number } | null
}

export interface Grant {
  lease: string
  kind: WindowKind | 'probe'
  requests: number
  sessions: number
  /** Page size. */
  limit: number
  /** Minimum number of sessions that the lease must have left to request a page. */
  pageSessions: number
  deadlineMs: number
  /** The billing period that the sessions belong to. An answer that contradicts it ends the lease. */
  period: GrantedPeriod
}

export type Decision =
  | { kind: 'grant'; grant: Grant }
  | { kind: 'wait'; untilMs: number; reason: 'paused' | 'hour' | 'leased' }
  | { kind: 'refuse'; reason: 'period' | 'max-requests' | 'max-sessions' }

type Decided = [GovernorState, Decision]
type Reason<K extends Decision['kind']> = Extract<Decision, { kind: K; reason: unknown }>['reason']

type GovernorEvent =
  | { kind: 'answered'; lease: string | null; answer: Answer }
  | { kind: 'ended'; lease: string }
  | { kind: 'seen'; progress: WindowProgress }
  | ({ kind: 'allow' } & Allowance)

/** Maximum share of the sessions left for one lease, so that other leases need not shrink their pages. */
const LEASE_SHARE = 0.5

/** Requests of a lease beyond those for its pages. */
export const SPARE_REQUESTS = 2

export const NONE_LOST: GovernorState['lost'] = { answers: 0, sessions: 0 }

export const newGovernor = (options: Partial<GovernorOptions> = {}): GovernorState => {
  const all = { ...GOVERNOR_DEFAULTS, ...options }
  return {
    options: all,
    mode: 'open',
    pausedSinceMs: 0,
    pausedUntilMs: 0,
    rateLimit: newRateLimit(all.hourMs, all.requestsPerHour),
    quota: newQuota(),
    leases: [],
    probes: [],
    spent: { requests: 0, sessions: 0 },
    lost: NONE_LOST,
    agents: [],
    breaches: 0,
    outlook: NO_OUTLOOK,
  }
}

/** Holds back the sessions that a page without an answer may have billed: the expected ones and the surprise reserve. */
export const holdBack = (quota: QuotaState, sessions: number, sinceMs: number): QuotaState =>
  holdPending(quota, Math.max(0, sessions) + surpriseReserve(quota.includedSessions, sessions), sinceMs, 'unanswered')

/** Share of the rate limit that is reserved for polls for new conversations, so that a backfill does not delay them. */
const HEAD_HOUR_SHARE = 0.05

/** A request for a lease. `limit` keeps a running generation's page size if the sessions left allow it; `largest` is the maximum. */
interface LeaseRequest {
  lease: string
  agentId: string
  kind: WindowKind | 'probe'
  wants: number
  limit?: number | null
  largest?: number
}

type Spender = Pick<LeaseRequest, 'agentId' | 'kind'>

/** Returns the requests left to others. Agents that have used their share of polls leave the rest to polls of others. */
function requestReserve({ options, rateLimit }: GovernorState, { agentId, kind }: Spender, nowMs: number): number {
  if (kind === 'selected' || kind === 'refresh' || kind === 'probe') return 0
  const forPeople = Math.floor(rateLimit.requestsPerHour * options.hourReserveShare)
  const forPolls = Math.floor(rateLimit.requestsPerHour * HEAD_HOUR_SHARE)
  const polls = requestsThisHour(rateLimit, nowMs, bucket => bucket.agentId === agentId && bucket.kind === 'head')
  const polled = options.polledAgents > 1 && polls >= Math.max(1, forPolls / options.polledAgents)
  return kind === 'head' && !polled ? forPeople : forPeople + forPolls
}

/** Returns the requests that a window of that kind and agent may still lease now. */
export function requestsFor(state: GovernorState, spender: Spender, nowMs: number): number {
  const { options, rateLimit } = state
  const outstanding = state.leases.reduce((sum, lease) => sum + Math.max(0, lease.requests - lease.made), 0)
  const run =
    options.maxRequests === null ? Number.POSITIVE_INFINITY : options.maxRequests - state.spent.requests - outstanding
  return Math.min(requestsLeft(rateLimit, nowMs, outstanding) - requestReserve(state, spender, nowMs), run)
}

function grantLease(state: GovernorState, agentId: string, granted: Omit<Grant, 'period'>, nowMs: number): Decided {
  const grant: Grant = { ...granted, period: grantedPeriod(state.quota, state.options.allowedPacks) }
  const { lease: id, limit: _, period: _known, ...leased } = grant
  const lease: Lease = { id, agentId, ...leased, made: 0, billed: 0 }
  const probing = state.mode === 'paused' && { mode: 'probing' as const, probe: lease.id }
  const probes = grant.kind === 'probe' ? withProbe(state.probes, nowMs, state.options.hourMs) : state.probes
  return [
    { ...state, ...probing, probes, leases: [...state.leases, lease] },
    { kind: 'grant', grant },
  ]
}

const waitUntil = (state: GovernorState, untilMs: number, reason: Reason<'wait'>): Decided => [
  state,
  { kind: 'wait', untilMs, reason },
]

const refuse = (state: GovernorState, reason: Reason<'refuse'>): Decided => [state, { kind: 'refuse', reason }]

/** Replaces the leases. If the probe's lease is gone while probing, the probe got no answer, and the governor pauses again. */
const withLeases = (state: GovernorState, leases: readonly Lease[]): GovernorState => ({
  ...state,
  leases,
  mode: state.mode === 'probing' && leases.every(({ id }) => id !== state.probe) ? 'paused' : state.mode,
})

/** Drops leases that have not ended an hour after their deadline: frees their requests, and holds back their possible bills. */
function withoutExpiredLeases(state: GovernorState, nowMs: number): GovernorState {
  const leases = state.leases.filter(lease => lease.deadlineMs + state.options.hourMs > nowMs)
  if (leases.length === state.leases.length) return state
  const left = withLeases(state, leases)
  const lost = state.leases.filter(lease => lease.sessions > 0 && !leases.includes(lease))
  const quota = lost.reduce((held, lease) => holdBack(held, lease.sessions - lease.billed, nowMs), left.quota)
  return { ...left, quota }
}

function grantProbe(state: GovernorState, asked: LeaseRequest, nowMs: number): Decided {
  const alone = state.quota.known ? state.leases.every(held => held.kind !== 'probe') : state.leases.length === 0
  if (!alone) return waitUntil(state, nowMs + MINUTE, 'leased')
  const { lease, agentId } = asked
  const deadlineMs = nowMs + state.options.leaseMs
  const probe = { lease, kind: 'probe' as const, requests: 1, sessions: 0, limit: 1, pageSessions: 0, deadlineMs }
  return grantLease(state, agentId, probe, nowMs)
}

/** Returns the decision if no page fits into the sessions left. */
function noPageFits(state: GovernorState, asked: LeaseRequest, nowMs: number): Decided {
  // Other leases may return unspent sessions.
  if (state.leases.length > 0) return waitUntil(state, nowMs + MINUTE, 'leased')
  if (runSessions(state) < pageSessions(state, asked.agentId, 1)) return refuse(state, 'max-sessions')
  // A usage report may also free sessions held back for lost answers, late reports or an unproved period.
  const clearsUp = resolvesAtMs(state.quota)
  if (clearsUp === null) return refuse(state, 'period')
  const probeAtMs = nextProbeMs(state.probes, clearsUp, { nowMs, hourMs: state.options.hourMs })
  if (probeAtMs === null) return refuse(state, 'period')
  return probeAtMs > nowMs ? waitUntil(state, probeAtMs, 'leased') : grantProbe(state, asked, nowMs)
}

/** Requests a lease of up to `wants` requests for a window of that kind; `probe` bills nothing. */
export function requestLease(given: GovernorState, asked: LeaseRequest, nowMs: number): Decided {
  const state = withPacks(withoutExpiredLeases(given, nowMs))
  const { options } = state
  const { lease, agentId } = asked
  if (state.mode === 'probing') return waitUntil(state, nowMs + options.hourMs / 60, 'paused')
  if (state.mode === 'paused' && nowMs < state.pausedUntilMs) return waitUntil(state, state.pausedUntilMs, 'paused')

  // After a failure, a request that bills nothing tests whether the vendor answers again.
  const probe = asked.kind === 'probe' || !state.quota.known || state.mode === 'paused'
  if (options.maxRequests !== null && options.maxRequests <= state.spent.requests) return refuse(state, 'max-requests')
  const spender: Spender = probe ? { agentId, kind: 'probe' } : asked
  const available = requestsFor(state, spender, nowMs)
  if (available < 1) {
    const againMs = nextFreeRequestMs(state.rateLimit, nowMs, requestReserve(state, spender, nowMs))
    return waitUntil(state, againMs, state.leases.length > 0 ? 'leased' : 'hour')
  }
  if (probe) return grantProbe(state, asked, nowMs)

  const kind = asked.kind as WindowKind
  const left = sessionsFor(state, 'head', nowMs)
  const learning = learningSessions(state, { agentId, kind }, left)
  const sessions = learning ?? sessionsFor(state, kind, nowMs)
  const { largest = options.maxPage, limit: running = null } = asked
  const size = pageSize(state, { agentId, sessions, left, largest, running })
  if (size === undefined) return noPageFits(state, asked, nowMs)
  const { limit, held: page } = size
  // While two periods compete, each answer must count before the next request.
  const wanted = learning !== null || state.quota.rivals.length > 0 ? 1 : asked.wants
  const affordable = Math.floor((sessions * LEASE_SHARE) / page)
  const pages = Math.max(1, Math.min(wanted, Math.floor(available), affordable))
  // Two more requests, if available: one to repeat a request without an answer, and one to test whether the vendor answers at all.
  const requests = Math.min(pages + SPARE_REQUESTS, Math.floor(available))
  const deadlineMs = nowMs + options.leaseMs
  const grant = { lease, kind, requests, sessions: pages * page, limit, pageSessions: page, deadlineMs }
  return grantLease(state, agentId, grant, nowMs)
}

/**
 * Holds back the sessions of a lost answer or a vendor failure: either may hide a billed page, and counts against the
 * run's limit. An attempt without a connection hides nothing.
 */
function withUnseenAnswer(state: GovernorState, lease: Lease | undefined, answer: Answer): GovernorState {
  if (lease === undefined || lease.pageSessions === 0 || answer.isProbe || answer.unsent || answer.status === 429)
    return state
  const quota = holdBack(state.quota, lease.pageSessions, answer.receivedAtMs)
  const { answers, sessions } = state.lost
  return { ...state, quota, lost: { answers: answers + 1, sessions: sessions + lease.pageSessions } }
}

const pauseAfter = (state: GovernorState, lease: Lease | undefined, answer: Answer): GovernorState => ({
  ...withUnseenAnswer(state, lease, answer),
  // A failure that another lease reports late does not affect the probe, which is still unanswered.
  mode: state.mode === 'probing' && lease?.id !== state.probe ? 'probing' : 'paused',
  pausedSinceMs: Math.max(state.pausedSinceMs, answer.receivedAtMs),
  pausedUntilMs: Math.max(
    state.pausedUntilMs,
    answer.receivedAtMs + Math.max(state.options.hourMs / 60, answer.retryAfterMs ?? 0),
  ),
})

function countBilledAnswer(state: GovernorState, lease: Lease | undefined, answer: Answer): GovernorState {
  const billed = answer.billed ?? answer.usage?.billableUsedThisRequest ?? answer.returned
  const certain = answer.usage?.billableUsedThisRequest == null ? answer.returned : billed
  const billedAnswer = { ...answer, billed, certain, unseen: unseenSessions(state, lease) }
  const quota = answer.usage
    ? applyUsage(state.quota, answer.usage, billedAnswer)
    : countBilled(state.quota, billedAnswer)
  const breach = lease !== undefined && billed > lease.sessions - lease.billed
  return {
    ...state,
    quota,
    breaches: state.breaches + (breach ? 1 : 0),
    agents: lease ? withPage(state.agents, lease.agentId, { ...answer, billed }) : state.agents,
    spent: { ...state.spent, sessions: state.spent.sessions + billed },
    leases: state.leases.map(held => (held === lease ? { ...held, billed: held.billed + billed } : held)),
  }
}

function answered(state: GovernorState, leaseId: string | null, answer: Answer): GovernorState {
  const leaseIn = (leases: readonly Lease[]) => leases.find(held => held.id === leaseId)
  if (answer.unsent) return answer.givenUp ? state : pauseAfter(state, leaseIn(state.leases), answer)
  const counted: GovernorState = {
    ...state,
    rateLimit: countRequest(state.rateLimit, answer.receivedAtMs, leaseIn(state.leases)),
    spent: { ...state.spent, requests: state.spent.requests + 1 },
    leases: state.leases.map(lease => (lease.id === leaseId ? { ...lease, made: lease.made + 1 } : lease)),
  }
  const limited = answer.rateLimit
    ? { ...counted, rateLimit: applyReportedLimit(counted.rateLimit, answer.rateLimit, answer) }
    : counted
  const stale = state.mode !== 'open' && answer.sentAtMs < state.pausedSinceMs
  const mode = stale ? state.mode : 'open'
  const lease = leaseIn(limited.leases)
  if (answer.status === 200) return { ...countBilledAnswer(limited, lease, answer), mode }
  if (answer.givenUp) return withUnseenAnswer(limited, lease, answer)
  return isVendorFailure(answer.status) ? pauseAfter(limited, lease, answer) : { ...limited, mode }
}

/** Applies an event. The events of one lease arrive in order; those of several leases may interleave. */
export function govern(state: GovernorState, event: GovernorEvent): GovernorState {
  switch (event.kind) {
    case 'answered':
      return answered(state, event.lease, sanitizeAnswer(event.answer))
    case 'ended':
      return withLeases(
        state,
        state.leases.filter(lease => lease.id !== event.lease),
      )
    case 'seen':
      return { ...state, outlook: updateOutlook(state.outlook, event.progress) }
    case 'allow': {
      const options = { ...state.options, ...raised(state.options, event) }
      const forHistory = options.allowedPacks > state.options.allowedPacks ? { packsForHistory: true } : {}
      return { ...state, options: { ...options, ...forHistory } }
    }
  }
}

// Limits probes of the vendor: the first follow at once, because one probe settles a contradiction and two settle a new period.
// Then the interval doubles with each probe of the last hour, so at most eight fit into an hour, whatever the answers are.

const PROBES_AT_ONCE = 3
/** Maximum wait of a run for a probe, in sixtieths of the hour; beyond that the quota counts as spent. */
const MAX_WAIT = 10

/** Returns the probes of the hour before `atMs`, and `atMs` itself. */
export const withProbe = (probes: readonly number[], atMs: number, hourMs: number): number[] => [
  ...probes.filter(probedAtMs => probedAtMs > atMs - hourMs),
  atMs,
]

/** Returns the time of the next probe, ms, not before `earliestMs`; null if a run does not wait for it. */
function nextProbeMs(
  probes: readonly number[],
  earliestMs: number,
  { nowMs, hourMs }: { nowMs: number; hourMs: number },
): number | null {
  const recent = probes.filter(atMs => atMs > nowMs - hourMs)
  const waits = recent.length - PROBES_AT_ONCE
  const free = waits < 0 ? nowMs : recent.at(-1)! + (hourMs / 60) * 2 ** waits
  const atMs = Math.max(earliestMs, free)
  return atMs > nowMs + (MAX_WAIT * hourMs) / 60 ? null : atMs
}

// Allowances that a person grants to a running sync can only raise limits.

/** Limits of a run; null for none. */
interface Limits {
  allowedPacks: number
  maxRequests: number | null
  maxSessions: number | null
}

/** Allowed overage packs, and raised limits of the run. */
export interface Allowance {
  packs?: number
  requests?: number
  sessions?: number
}

const higher = (limit: number | null, raisedTo = 0): number | null =>
  limit === null ? null : Math.max(limit, raisedTo)

const raised = (
  { allowedPacks, maxRequests, maxSessions }: Limits,
  { packs = 0, requests, sessions }: Allowance,
): Limits => ({
  allowedPacks: Math.max(allowedPacks, packs),
  maxRequests: higher(maxRequests, requests),
  maxSessions: higher(maxSessions, sessions),
})
