// Refusals on their way to people: a line in the log for the first of a kind, then one a minute with a count, and the record in the spool every
// few seconds. Whoever knocks often fills neither.
import { MINUTE, SECOND } from '../core/time.ts'
import { type Refused, recordRefused } from '../spool/refusal-record.ts'
import type { Refusal } from './refusals.ts'

export interface RefusalReportOptions {
  home: string
  /** Writes a line to the log. */
  log: (refused: Refused) => void
  now?: () => number
  /** As often as this at most, ms. */
  logEveryMs?: number
  keepEveryMs?: number
}

export class RefusalReport {
  private readonly options: Required<RefusalReportOptions>
  /** Not kept yet, and not told yet; by workspace and reason. */
  private unkept = new Map<string, Refused>()
  private untold = new Map<string, Refused>()
  private readonly toldMs = new Map<string, number>()
  private keepTimer: NodeJS.Timeout | undefined
  private logTimer: NodeJS.Timeout | undefined
  private keeping: Promise<void> = Promise.resolve()

  constructor(options: RefusalReportOptions) {
    this.options = { now: Date.now, logEveryMs: MINUTE, keepEveryMs: 3 * SECOND, ...options }
  }

  refuse(reason: Refusal, workspaceId: string | null): void {
    const nowMs = this.options.now()
    const key = JSON.stringify([workspaceId, reason])
    for (const counts of [this.unkept, this.untold]) {
      const before = counts.get(key)
      const firstMs = before?.firstMs ?? nowMs
      counts.set(key, { workspaceId, reason, count: (before?.count ?? 0) + 1, firstMs, lastMs: nowMs })
    }
    this.keepTimer ??= setTimeout(() => this.keep(), this.options.keepEveryMs).unref()
    this.tell()
  }

  /** Writes lines that are due, and comes again for the others. */
  private tell(): void {
    const nowMs = this.options.now()
    const dueMs = (key: string) => {
      const toldMs = this.toldMs.get(key) ?? Number.NEGATIVE_INFINITY
      // The clock has been set back: to wait until it is there again may take years, and no timer takes a month.
      return toldMs > nowMs ? nowMs : toldMs + this.options.logEveryMs
    }
    for (const [key, refused] of this.untold) {
      if (dueMs(key) > nowMs) continue
      this.untold.delete(key)
      this.toldMs.set(key, nowMs)
      this.options.log(refused)
    }
    if (this.untold.size === 0 || this.logTimer) return
    const nextMs = Math.min(...[...this.untold.keys()].map(dueMs))
    this.logTimer = setTimeout(() => {
      this.logTimer = undefined
      this.tell()
    }, nextMs - nowMs).unref()
  }

  /** What the disk refuses is tried again with what comes next. */
  private keep(): Promise<void> {
    clearTimeout(this.keepTimer)
    this.keepTimer = undefined
    const counts = this.unkept
    if (counts.size === 0) return this.keeping
    this.unkept = new Map()
    this.keeping = this.keeping
      .then(() => recordRefused(this.options.home, [...counts.values()]))
      .catch(() => this.putBack(counts))
    return this.keeping
  }

  private putBack(counts: ReadonlyMap<string, Refused>): void {
    for (const [key, earlier] of counts) {
      const later = this.unkept.get(key)
      this.unkept.set(key, later ? { ...later, count: earlier.count + later.count, firstMs: earlier.firstMs } : earlier)
    }
  }

  /** Tells and keeps what is left. */
  async close(): Promise<void> {
    clearTimeout(this.logTimer)
    for (const refused of this.untold.values()) this.options.log(refused)
    this.untold.clear()
    await this.keep()
  }
}
