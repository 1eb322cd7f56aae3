// Billable sessions by period, and what is charged beyond the included ones (API document, sections 2.11 and 8).
import { DAY } from '../core/time.ts'

/** Sessions of an overage pack. */
export const PACK_SESSIONS = 1_000

/** Told to a workspace without limits. */
const UNLIMITED = 1_000_000_000

export interface Usage {
  periodKey: string
  billableUsedThisRequest: number
  billableUsedThisPeriod: number
  includedQuota: number
  billableRemainingThisPeriod: number
  overageUsedThisPeriod: number
  overagePacksCharged: number
  exportRequestCount: number
  summary: string
  logId: string
}

export interface QuotaOptions {
  limits: boolean
  quotaSessions: number
  periodDays: number
  /** Periods are counted from here, in ms. */
  startMs: number
}

/** Where periods are counted from, and the number of the first. */
interface Count {
  startMs: number
  number: number
}

interface Spent {
  sessions: number
  requests: number
}

export class Quota {
  private readonly options: QuotaOptions
  /** By period: the clock can be set back into one that was left. */
  private readonly spent = new Map<string, Spent>()
  /** Periods are counted from the last of these that lies in the past. */
  private readonly counts: Count[]
  private logged = 0

  constructor(options: QuotaOptions) {
    this.options = options
    this.counts = [{ startMs: options.startMs, number: 0 }]
  }

  get includedQuota(): number {
    return this.options.limits ? this.options.quotaSessions : UNLIMITED
  }

  /** Bills one answered export request. Past the quota requests go on, and packs are charged. */
  bill(sessions: number, nowMs: number): Usage {
    const spent = this.spentIn(nowMs)
    spent.sessions += sessions
    spent.requests += 1
    this.logged += 1
    return this.usage(sessions, nowMs)
  }

  /** Usage as it stands, with nothing billed. */
  peek(nowMs: number): Usage {
    return this.usage(0, nowMs)
  }

  /** Usage of the last period that something was billed in before this one; undefined where there was none. */
  before(nowMs: number): Usage | undefined {
    const now = this.periodKey(nowMs)
    const last = [...this.spent].findLast(([key, { requests }]) => key !== now && requests > 0)
    return last && this.usageOf({ periodKey: last[0], billed: 0, ...last[1] })
  }

  /** Begins a new period now. */
  turn(nowMs: number): void {
    const number = 1 + Math.max(this.periodAt(nowMs).number, ...this.counts.map(count => count.number))
    this.counts.push({ startMs: nowMs, number })
  }

  /** As if no more than that request had been billed in the period. */
  onlyThis({ periodKey, billableUsedThisRequest: billed }: Usage): Usage {
    return this.usageOf({ periodKey, billed, sessions: billed, requests: 1 })
  }

  private usage(billed: number, nowMs: number): Usage {
    return this.usageOf({ periodKey: this.periodKey(nowMs), billed, ...this.spentIn(nowMs) })
  }

  private usageOf({ periodKey, billed, sessions, requests }: Spent & { periodKey: string; billed: number }): Usage {
    const overage = Math.max(0, sessions - this.includedQuota)
    const packs = Math.ceil(overage / PACK_SESSIONS)
    return {
      periodKey,
      billableUsedThisRequest: billed,
      billableUsedThisPeriod: sessions,
      includedQuota: this.includedQuota,
      billableRemainingThisPeriod: Math.max(0, this.includedQuota - sessions),
      overageUsedThisPeriod: overage,
      overagePacksCharged: packs,
      exportRequestCount: requests,
      summary: `${sessions} of ${this.includedQuota} included billable sessions used; ${packs} overage packs charged.`,
      logId: `export_${this.logged.toString(36).padStart(8, '0')}`,
    }
  }

  private spentIn(nowMs: number): Spent {
    const key = this.periodKey(nowMs)
    const spent = this.spent.get(key) ?? { sessions: 0, requests: 0 }
    this.spent.set(key, spent)
    return spent
  }

  /** The period's first day, and its number for periods that are shorter than a day. */
  private periodKey(nowMs: number): string {
    const { startMs, number } = this.periodAt(nowMs)
    return `${new Date(startMs).toISOString().slice(0, 10)}.${number}`
  }

  private periodAt(nowMs: number): Count {
    const periodMs = this.options.periodDays * DAY
    const { startMs, number } = this.counts.findLast(count => count.startMs <= nowMs) ?? this.counts[0]!
    const periods = Math.floor((nowMs - startMs) / periodMs)
    return { startMs: startMs + periods * periodMs, number: number + periods }
  }
}
