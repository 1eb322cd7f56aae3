// The port of the lease log: every lease when it is granted, every request's outcome, every lease's end. After a kill the governor's state is
// rebuilt from the log: a lease without an end counts as fully spent until its hour has passed.
import type { LeaseEntry } from '../core/governor/lease-entries.ts'

export interface LeaseLog {
  /** Resolves when the entry is durable. Entries appended while a sync runs share the next one. @throws HOME_UNUSABLE */
  append(entry: LeaseEntry): Promise<void>
  /**
   * Entries of the last `hourMs` of all writers, ordered by time, with the newest requests that reported usage, however old: they decide
   * which billing period is running. A line that a kill cut off is skipped: nobody acted on it. Entries far ahead of `nowMs` are set
   * aside: the clock has been set back.
   * @throws HOME_UNUSABLE
   */
  recent(nowMs: number, hourMs: number): Promise<LeaseEntry[]>
  /** Joins files of hours that are over, once there are many. May run while other processes append and read. @throws HOME_UNUSABLE */
  merge(nowMs: number): Promise<void>
  close(): Promise<void>
}
