// Billable sessions per billing period, and overage beyond the included ones (API document, sections 2.11 and 8).
import { DAY } from '../../core/time.ts'
import type { Readings } from '../readings.ts'

/** Sessions per overage pack. */
const PACK_SESSIONS = 1_000

/** The quota that is reported to a workspace without limits. */
const UNLIMITED = 1_000_000_000

export interface Usage {
  periodKey?: string
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

interface QuotaOptions {
  limits: boolean
  quotaSessions: number
  periodDays: number
  /** Start of the first period, ms. */
  startMs: number
  readings: Readings
}

/** A sequence of periods: its start, and the number of its first period. */
interface Count {
  startMs: number
  number: number
}

interface Spent {
  sessions: number
  requests: number
  /** Totals before each of the most recent requests, newest last; for the reading `usage-lag`. */
  before: Pick<Spent, 'sessions' | 'requests'>[]
  /** Billed sessions by conversation index; for the reading `rebill`. */
  conversations: Map<number, number>
}

interface Counted extends Pick<Spent, 'sessions' | 'requests'> {
  key: string
  /** Billed by this request. */
  billed: number
}

const LONGEST_LAG = 5
const STALE_EVERY = 3

export class Quota {
  private readonly options: QuotaOptions
  /** Usage by period key. Earlier periods are kept, since the clock can be set back into one. */
  private readonly spent = new Map<string, Spent>()
  /** The last sequence that has begun is the current one; `turn` adds a sequence. */
  private readonly counts: Count[]
  private logged = 0

  constructor(options: QuotaOptions) {
    this.options = options
    this.counts = [{ startMs: options.startMs, number: 0 }]
  }

  get includedQuota(): number {
    return this.options.limits ? this.options.quotaSessions : UNLIMITED
  }

  /** Bills one answered export request. Beyond the quota, requests succeed and packs are charged. */
  bill(sessions: number, nowMs: number): Usage {
    const spent = this.spentIn(nowMs)
    const { sessions: before, requests } = spent
    spent.before = [...spent.before, { sessions: before, requests }].slice(-LONGEST_LAG)
    spent.sessions += sessions
    spent.requests += 1
    this.logged += 1
    const lag = Number(this.options.readings['usage-lag'])
    const late = lag === 0 ? spent : (spent.before.at(-lag) ?? { sessions: 0, requests: 0 })
    const isStale = this.options.readings['period-key'] === 'stale' && this.logged % STALE_EVERY === 0
    return isStale
      ? this.usageOf(
          { key: this.periodKey(nowMs - this.periodMs), billed: sessions, ...late, sessions: this.includedQuota },
          nowMs,
        )
      : this.usageOf({ key: this.periodKey(nowMs), billed: sessions, ...late }, nowMs)
  }

  /** Counts sessions of these conversations that the period has not billed yet, and marks them billed. */
  notYetBilled(indices: readonly number[], sessionsOf: (index: number) => number, nowMs: number): number {
    const { conversations } = this.spentIn(nowMs)
    return indices.reduce((sum, index) => {
      const before = conversations.get(index) ?? 0
      const sessions = Math.max(before, sessionsOf(index))
      conversations.set(index, sessions)
      return sum + sessions - before
    }, 0)
  }

  /** Current usage; bills nothing. */
  peek(nowMs: number): Usage {
    return this.usageOf({ key: this.periodKey(nowMs), billed: 0, ...this.spentIn(nowMs) }, nowMs)
  }

  /** Usage of the last earlier period with billed sessions; undefined if there is none. */
  before(nowMs: number): Usage | undefined {
    const now = this.periodKey(nowMs)
    const last = [...this.spent].findLast(([key, { requests }]) => key !== now && requests > 0)
    return last && this.usageOf({ key: last[0], billed: 0, ...last[1] }, nowMs)
  }

  /** Starts a new period now. */
  turn(nowMs: number): void {
    const number = 1 + Math.max(this.periodAt(nowMs).number, ...this.counts.map(count => count.number))
    this.counts.push({ startMs: nowMs, number })
  }

  /** The usage that would be reported if the period had billed only this request. */
  onlyThis({ billableUsedThisRequest: billed }: Usage, nowMs: number): Usage {
    return this.usageOf({ key: this.periodKey(nowMs), billed, sessions: billed, requests: 1 }, nowMs)
  }

  private usageOf({ key, billed, sessions, requests }: Counted, nowMs: number): Usage {
    const overage = Math.max(0, sessions - this.includedQuota)
    const packs = Math.ceil(overage / PACK_SESSIONS)
    return {
      ...this.named(key, nowMs),
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

  private named(key: string, nowMs: number): Pick<Usage, 'periodKey'> {
    const reading = this.options.readings['period-key']
    if (reading === 'absent') return {}
    return { periodKey: reading === 'daily' ? new Date(nowMs).toISOString().slice(0, 10) : key }
  }

  private spentIn(nowMs: number): Spent {
    const key = this.periodKey(nowMs)
    const spent: Spent = this.spent.get(key) ?? { sessions: 0, requests: 0, before: [], conversations: new Map() }
    this.spent.set(key, spent)
    return spent
  }

  /** The period's first day and its number, which tells periods shorter than a day apart. */
  private periodKey(nowMs: number): string {
    const { startMs, number } = this.periodAt(nowMs)
    return `${new Date(startMs).toISOString().slice(0, 10)}.${number}`
  }

  private get periodMs(): number {
    return this.options.periodDays * DAY
  }

  private periodAt(nowMs: number): Count {
    const { periodMs } = this
    const { startMs, number } = this.counts.findLast(count => count.startMs <= nowMs) ?? this.counts[0]!
    const periods = Math.floor((nowMs - startMs) / periodMs)
    return { startMs: startMs + periods * periodMs, number: number + periods }
  }
}
