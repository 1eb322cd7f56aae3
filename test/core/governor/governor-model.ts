// A model of a vendor with a quota and an hourly limit, and of workers that obey the governor's grants. Even if workers
// are slow, lost or killed, the model knows what the vendor counted.

import {
  type Decision,
  type GovernorOptions,
  type GovernorState,
  type Grant,
  govern,
  newGovernor,
  requestLease,
} from '../../../src/core/governor/governor.ts'
import type { Answer } from '../../../src/core/governor/lease-entries.ts'
import { surpriseReserve } from '../../../src/core/governor/page-size.ts'
import type { WindowKind } from '../../../src/core/planning/windows.ts'
import { PACK_SESSIONS } from '../../../src/core/quota/quota.ts'

export interface ModelOptions {
  governor: Partial<GovernorOptions>
  includedSessions: number
  requestsPerHour: number
  /** Usage reports omit this many of the newest requests, and all requests of the last `ms` milliseconds. */
  lag?: { requests: number; ms: number }
}

/** Fate of a request, and its bill as a fraction (0 to 1) of the maximum. */
export interface Fate {
  kind: 'answered' | 'lost-after' | 'lost-before' | 'failed'
  share: number
  latencyMs: number
}

interface Worker {
  grant: Grant
  requests: number
  sessions: number
  answers: Answer[]
}

const HOUR_MS = 3_600_000

export class GovernorModel {
  nowMs = 1_750_000_000_000
  state: GovernorState
  workers: Worker[] = []
  /** The vendor's own knowledge: the period, and the times of our requests (`counted`) and of other users' (`others`). */
  period = { key: 'p1', used: 0 }
  counted: number[] = []
  others: number[] = []
  /** Maxima of our requests in any hour, of the overage, and of the overage without the sessions of other users. */
  worst = { requestsInHour: 0, overage: 0, ownOverage: 0 }
  /** Sessions billed to other users in the period. */
  elsewhere = 0
  /** All requests and billed sessions of the run. */
  made = { requests: 0, sessions: 0 }
  decisions: Decision[] = []
  requests: { lease: string; atMs: number }[] = []
  readonly options: ModelOptions
  private ids = 0
  /** The vendor's count of sessions after each request of any user. */
  private counts: { atMs: number; used: number }[] = []

  constructor(options: ModelOptions) {
    this.options = options
    this.state = newGovernor(options.governor)
  }

  ask(kind: WindowKind | 'probe', wants: number, limit: number | null = null): Decision {
    const asked = { lease: `l${++this.ids}`, agentId: 'a', kind, wants, limit }
    const [state, decision] = requestLease(this.state, asked, this.nowMs)
    this.state = state
    this.decisions.push(decision)
    if (decision.kind === 'grant') this.workers.push({ grant: decision.grant, requests: 0, sessions: 0, answers: [] })
    return decision
  }

  /** Sends one request of a worker if its lease permits it. @returns true if the request was sent */
  request(index: number, fate: Fate): boolean {
    const worker = this.workers[index % Math.max(1, this.workers.length)]
    if (!worker || !this.mayAsk(worker)) return false
    worker.requests += 1
    this.made.requests += 1
    this.requests.push({ lease: worker.grant.lease, atMs: this.nowMs })
    const sentAtMs = this.nowMs
    const reached = fate.kind !== 'lost-before'
    // The vendor counts the request either on arrival or just before it answers.
    if (fate.share < 0.5) this.nowMs += fate.latencyMs
    const full = reached && this.isRateLimited()
    const billed = reached && !full && fate.kind !== 'failed' ? this.bill(worker, fate) : 0
    const remaining = this.remainingRequests()
    const usage = this.usage(billed)
    if (fate.share >= 0.5) this.nowMs += fate.latencyMs
    worker.answers.push(this.answer({ fate, full, billed, sentAtMs, remaining, usage, worker }))
    return true
  }

  /** Ends the lease of a worker and reports its answers to the governor. */
  end(index: number): void {
    if (this.workers.length === 0) return
    const [worker] = this.workers.splice(index % this.workers.length, 1)
    for (const answer of worker!.answers)
      this.state = govern(this.state, { kind: 'answered', lease: worker!.grant.lease, answer })
    this.state = govern(this.state, { kind: 'ended', lease: worker!.grant.lease })
  }

  /** Ends the leases whose deadline has passed: a live worker reports within moments. */
  endOverdue(): void {
    for (const worker of this.workers.filter(({ grant }) => grant.deadlineMs <= this.nowMs))
      this.end(this.workers.indexOf(worker))
  }

  /** Kills a worker: nothing about its lease is ever reported. */
  lose(index: number): void {
    if (this.workers.length > 0) this.workers.splice(index % this.workers.length, 1)
  }

  turnPeriod(): void {
    this.period = { key: `p${Number(this.period.key.slice(1)) + 1}`, used: 0 }
    this.counts = []
    this.elsewhere = 0
  }

  /** Sends requests of other users of the token, until the rate limit is reached. */
  requestByOthers(requests: number): void {
    for (let made = 0; made < requests && !this.isRateLimited(); made++) this.others.push(this.nowMs)
  }

  /** Bills sessions to other users of the token. */
  spendElsewhere(sessions: number): void {
    this.elsewhere += sessions
    this.count(sessions)
  }

  /** Resets the vendor's request counter, as a restart does: the vendor counts in the memory of one process. */
  resetRateLimit(): void {
    this.others = []
    this.forgotten = this.counted.length
  }

  private forgotten = 0

  private mayAsk({ grant, requests, sessions }: Worker): boolean {
    return requests < grant.requests && sessions + grant.pageSessions <= grant.sessions && this.nowMs < grant.deadlineMs
  }

  private within(times: number[]): number {
    return times.filter(time => time > this.nowMs - HOUR_MS).length
  }

  private remainingRequests(): number {
    return this.options.requestsPerHour - this.within(this.counted.slice(this.forgotten)) - this.within(this.others)
  }

  private isRateLimited(): boolean {
    return this.remainingRequests() <= 0
  }

  private bill({ grant }: Worker, { share, kind }: Fate): number {
    // A worker never sees the bill of a lost page and continues its lease: the model bills at most `pageSessions` for such a page.
    const surprise = kind === 'lost-after' ? 0 : surpriseReserve(this.options.includedSessions)
    const most = grant.pageSessions === 0 ? 0 : grant.pageSessions + surprise
    const billed = Math.round(most * share)
    this.counted.push(this.nowMs)
    this.count(billed)
    this.made.sessions += billed
    this.worst.requestsInHour = Math.max(this.worst.requestsInHour, this.within(this.counted))
    const allowed = this.options.includedSessions + this.state.options.allowedPacks * PACK_SESSIONS
    this.worst.overage = Math.max(this.worst.overage, this.period.used - allowed)
    if (billed > 0) this.worst.ownOverage = Math.max(this.worst.ownOverage, this.period.used - this.elsewhere - allowed)
    return billed
  }

  private count(sessions: number): void {
    this.period.used += sessions
    this.counts.push({ atMs: this.nowMs, used: this.period.used })
  }

  /** Returns the count of sessions that a usage report would contain now. */
  private reported(): number {
    const { requests, ms } = this.options.lag ?? { requests: 0, ms: 0 }
    const counts = requests > 0 ? this.counts.slice(0, -requests) : this.counts
    return counts.findLast(({ atMs }) => ms === 0 || atMs <= this.nowMs - ms)?.used ?? 0
  }

  private usage(billed: number): Answer['usage'] {
    const used = this.reported()
    return {
      periodKey: this.period.key,
      billableUsedThisRequest: billed,
      billableUsedThisPeriod: used,
      includedQuota: this.options.includedSessions,
      billableRemainingThisPeriod: Math.max(0, this.options.includedSessions - used),
      overageUsedThisPeriod: Math.max(0, used - this.options.includedSessions),
      overagePacksCharged: 0,
      exportRequestCount: null,
    }
  }

  private answer(happened: {
    fate: Fate
    full: boolean
    billed: number
    sentAtMs: number
    remaining: number
    usage: Answer['usage']
    worker: Worker
  }): Answer {
    const { fate, full, billed, sentAtMs, worker } = happened
    const base = { sentAtMs, receivedAtMs: this.nowMs, retryAfterMs: null }
    const nothing = { ...base, returned: 0, billed: 0, usage: null, rateLimit: null }
    const lost = fate.kind === 'lost-after' || fate.kind === 'lost-before'
    if (!full && !lost && fate.kind !== 'failed') {
      worker.sessions += billed
      const rateLimit = { requestsPerHour: this.options.requestsPerHour, remainingHour: happened.remaining }
      const { usage } = happened
      return { ...base, status: 200, returned: worker.grant.limit, billed, usage, rateLimit }
    }
    // Like a real worker, counts a lost or failed request as a full page: the vendor may have billed it.
    if (!full || lost) worker.sessions += worker.grant.pageSessions
    return { ...nothing, status: lost ? null : full ? 429 : 500 }
  }
}
