// Reports refusals. The log gets a line for the first refusal of a kind, then one line a minute with a count. The record in the spool is
// updated every few seconds. So frequent refusals flood neither.
import { MINUTE, SECOND } from '../core/time.ts'
import { type Refused, recordRefused } from '../spool/refusal-record.ts'
import type { Refusal } from './refusals.ts'

interface RefusalReportOptions {
  home: string
  /** Writes a line to the log. */
  log: (refused: Refused) => void
  now?: () => number
  /** Minimum interval between two log lines of the same kind, ms. */
  logEveryMs?: number
  /** Interval between two writes to the record, ms. */
  recordEveryMs?: number
}

export class RefusalReport {
  private readonly options: Required<RefusalReportOptions>
  /** Counts that are not recorded yet, and counts that are not logged yet, by workspace and reason. */
  private unrecorded = new Map<string, Refused>()
  private unlogged = new Map<string, Refused>()
  private readonly loggedMs = new Map<string, number>()
  private recordTimer: NodeJS.Timeout | undefined
  private logTimer: NodeJS.Timeout | undefined
  private recording: Promise<void> = Promise.resolve()

  constructor(options: RefusalReportOptions) {
    this.options = { now: Date.now, logEveryMs: MINUTE, recordEveryMs: 3 * SECOND, ...options }
  }

  refuse(reason: Refusal, workspaceId: string | null): void {
    const nowMs = this.options.now()
    const key = JSON.stringify([workspaceId, reason])
    for (const counts of [this.unrecorded, this.unlogged]) {
      const before = counts.get(key)
      const firstMs = before?.firstMs ?? nowMs
      counts.set(key, { workspaceId, reason, count: (before?.count ?? 0) + 1, firstMs, lastMs: nowMs })
    }
    this.recordTimer ??= setTimeout(() => this.record(), this.options.recordEveryMs).unref()
    this.logDue()
  }

  /** Logs the lines that are due, and schedules the others. */
  private logDue(): void {
    const nowMs = this.options.now()
    const dueMs = (key: string) => {
      const loggedMs = this.loggedMs.get(key) ?? Number.NEGATIVE_INFINITY
      // If the clock has been set back, waiting for the old time may take years, and timers run for less than a month.
      return loggedMs > nowMs ? nowMs : loggedMs + this.options.logEveryMs
    }
    for (const [key, refused] of this.unlogged) {
      if (dueMs(key) > nowMs) continue
      this.unlogged.delete(key)
      this.loggedMs.set(key, nowMs)
      this.options.log(refused)
    }
    if (this.unlogged.size === 0 || this.logTimer) return
    const nextMs = Math.min(...[...this.unlogged.keys()].map(dueMs))
    this.logTimer = setTimeout(() => {
      this.logTimer = undefined
      this.logDue()
    }, nextMs - nowMs).unref()
  }

  /** Writes the counts to the record. Counts that cannot be written are retried together with the next ones. */
  private record(): Promise<void> {
    clearTimeout(this.recordTimer)
    this.recordTimer = undefined
    const counts = this.unrecorded
    if (counts.size === 0) return this.recording
    this.unrecorded = new Map()
    this.recording = this.recording
      .then(() => recordRefused(this.options.home, [...counts.values()]))
      .catch(() => this.putBack(counts))
    return this.recording
  }

  private putBack(counts: ReadonlyMap<string, Refused>): void {
    for (const [key, earlier] of counts) {
      const later = this.unrecorded.get(key)
      this.unrecorded.set(
        key,
        later ? { ...later, count: earlier.count + later.count, firstMs: earlier.firstMs } : earlier,
      )
    }
  }

  /** Logs and records the remaining counts. */
  async close(): Promise<void> {
    clearTimeout(this.logTimer)
    for (const refused of this.unlogged.values()) this.options.log(refused)
    this.unlogged.clear()
    await this.record()
  }
}
