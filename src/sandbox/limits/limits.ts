// Billable sessions per billing period, and overage beyond the included ones (API document, sections 2.11 and 8).
import { DAY } from '../../core/time.ts'

/** Sessions per overage pack. */
const PACK_SESSIONS = 1_000

export type Usage = ReturnType<Quota['bill']>

interface QuotaOptions {
  quotaSessions: number
  periodDays: number
  /** Start of the first period, ms. */
  startMs: number
}

interface Spent {
  sessions: number
  requests: number
}

interface Counted extends Spent {
  key: string
  /** Sessions billed by this request. */
  billed: number
}

export class Quota {
  private readonly options: QuotaOptions
  /** Usage by period key. Earlier periods are kept, since the clock can be set back into one. */
  private readonly spent = new Map<string, Spent>()
  private logged = 0

  constructor(options: QuotaOptions) {
    this.options = options
  }

  /** Bills one answered export request. Beyond the quota, requests succeed and packs are charged. */
  bill(sessions: number, nowMs: number) {
    const spent = this.spentIn(nowMs)
    spent.sessions += sessions
    spent.requests += 1
    this.logged += 1
    return this.usageOf({ key: this.periodKey(nowMs), billed: sessions, ...spent })
  }

  /** Returns the current usage; bills nothing. */
  peek(nowMs: number): Usage {
    return this.usageOf({ key: this.periodKey(nowMs), billed: 0, ...this.spentIn(nowMs) })
  }

  /** Returns the usage of the last earlier period with billed sessions; undefined if there is none. */
  before(nowMs: number): Usage | undefined {
    const now = this.periodKey(nowMs)
    const last = [...this.spent].findLast(([key, { requests }]) => key !== now && requests > 0)
    return last && this.usageOf({ key: last[0], billed: 0, ...last[1] })
  }

  /** Returns the usage that would be reported if the period had billed only this request. */
  onlyThis({ billableUsedThisRequest: billed }: Usage, nowMs: number): Usage {
    return this.usageOf({ key: this.periodKey(nowMs), billed, sessions: billed, requests: 1 })
  }

  private usageOf({ key, billed, sessions, requests }: Counted) {
    const includedQuota = this.options.quotaSessions
    const overage = Math.max(0, sessions - includedQuota)
    const packs = Math.ceil(overage / PACK_SESSIONS)
    return {
      periodKey: key,
      billableUsedThisRequest: billed,
      billableUsedThisPeriod: sessions,
      includedQuota,
      billableRemainingThisPeriod: Math.max(0, includedQuota - sessions),
      overageUsedThisPeriod: overage,
      overagePacksCharged: packs,
      exportRequestCount: requests,
      summary: `${sessions} of ${includedQuota} included billable sessions used; ${packs} overage packs charged.`,
      logId: `export_${this.logged.toString(36).padStart(8, '0')}`,
    }
  }

  private spentIn(nowMs: number): Spent {
    const key = this.periodKey(nowMs)
    const spent: Spent = this.spent.get(key) ?? { sessions: 0, requests: 0 }
    this.spent.set(key, spent)
    return spent
  }

  /** Returns the period's first day and its number, which distinguishes periods shorter than a day. */
  private periodKey(nowMs: number): string {
    const { startMs, periodDays } = this.options
    const number = Math.floor((nowMs - startMs) / (periodDays * DAY))
    const firstDay = new Date(startMs + number * periodDays * DAY).toISOString().slice(0, 10)
    return `${firstDay}.${number}`
  }
}

// The hourly request limit of the export (API document, section 8): a rolling hour.

interface RateLimitOptions {
  hourlyRequests: number
  hourMs: number
}

type Admission = { admitted: true } | { admitted: false; retryAfterMs: number }

/** Counts the requests of the last hour, except those refused with 429. */
export class RateLimit {
  private readonly options: RateLimitOptions
  private times: number[] = []

  constructor(options: RateLimitOptions) {
    this.options = options
  }

  admit(nowMs: number): Admission {
    this.forget(nowMs)
    if (this.times.length < this.options.hourlyRequests) {
      this.times.push(nowMs)
      return { admitted: true }
    }
    return { admitted: false, retryAfterMs: this.times[0]! + this.options.hourMs - nowMs }
  }

  /** Counts requests up to the limit, as if another user of the token had sent them. */
  take(requests: number, nowMs: number): void {
    this.forget(nowMs)
    const free = this.options.hourlyRequests - this.times.length
    for (let taken = 0; taken < Math.min(requests, free); taken++) this.times.push(nowMs)
  }

  /** Resets the count, as a restart of the counting process does. */
  restart(): void {
    this.times = []
  }

  remaining(nowMs: number): number {
    this.forget(nowMs)
    return this.options.hourlyRequests - this.times.length
  }

  /** Drops requests of earlier hours, and requests later than now, since the clock can be set back. */
  private forget(nowMs: number): void {
    const startMs = nowMs - this.options.hourMs
    const first = this.times[0]
    const last = this.times.at(-1)
    if (first === undefined || last === undefined || (first > startMs && last <= nowMs)) return
    this.times = this.times.filter(time => time > startMs && time <= nowMs)
  }
}
