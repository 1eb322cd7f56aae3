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

interface Spent {
  sessions: number
  requests: number
}

export class Quota {
  private readonly options: QuotaOptions
  /** By period: the clock can be set back into one that was left. */
  private readonly spent = new Map<string, Spent>()
  private logged = 0

  constructor(options: QuotaOptions) {
    this.options = options
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

  private usage(billed: number, nowMs: number): Usage {
    const { sessions, requests } = this.spentIn(nowMs)
    const overage = Math.max(0, sessions - this.includedQuota)
    const packs = Math.ceil(overage / PACK_SESSIONS)
    return {
      periodKey: this.periodKey(nowMs),
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
    const { startMs, periodDays } = this.options
    const number = Math.floor((nowMs - startMs) / (periodDays * DAY))
    const day = new Date(startMs + number * periodDays * DAY).toISOString().slice(0, 10)
    return `${day}.${number}`
  }
}
