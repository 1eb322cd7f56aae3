// Reports refusals. The log gets a line for the first refusal of a kind, then one line per minute with a count. The
// record in the spool is updated every few seconds. So frequent refusals flood neither.
import { MINUTE, SECOND } from '../core/time.ts'
import { type Refused, recordRefused } from '../spool/refusal-record.ts'
import type { Refusal } from './refusals.ts'

interface RefusalReportOptions {
  home: string
  /** Writes a line to the log. */
  log: (refused: Refused) => void
  now?: () => number
  /** Interval between two lines that count refusals, ms. */
  logEveryMs?: number
  /** Interval between two writes to the record, ms. */
  recordEveryMs?: number
}

export class RefusalReport {
  private readonly options: Required<RefusalReportOptions>
  /** Counts that are not yet recorded, and counts that are not yet logged, by workspace and reason. */
  private unrecorded = new Map<string, Refused>()
  private unlogged = new Map<string, Refused>()
  /** Kinds with a line since the timer last fired. */
  private readonly logged = new Set<string>()
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
    if (!this.logged.has(key)) this.logCount(key)
  }

  /** Logs the count of a kind. Until the timer fires, further refusals of this kind are only counted. */
  private logCount(key: string): void {
    this.options.log(this.unlogged.get(key)!)
    this.unlogged.delete(key)
    this.logged.add(key)
    this.logTimer ??= setTimeout(() => this.logCounts(), this.options.logEveryMs).unref()
  }

  private logCounts(): void {
    this.logTimer = undefined
    this.logged.clear()
    for (const key of [...this.unlogged.keys()]) this.logCount(key)
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
