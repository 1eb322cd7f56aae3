// Decides which changes of a stored conversation are worth another export, based on the results of earlier refreshes.

/**
 * Changes of a stored conversation that cause a refresh. `change`: every known change. `message`: changes that may include a message
 * which the stored copy lacks, and changes without an event; other events (a resolution, a rating, a note) are already applied to
 * the row. `auto`: like `change`, until the refreshes that `message` would skip are seen to find nothing (`skipsKnown`).
 */
export const REFRESH_ON = ['auto', 'change', 'message'] as const

/** The number of recent refreshes without a new message that decide whether such refreshes are skipped. */
export const DECIDING = 50

/** One in this many skipped refreshes is still made, to keep measuring. */
export const MEASURED_ONE_IN = 20

/**
 * True if refreshes without a new message are skipped: from the time when at most one of the last fifty found a change,
 * until three have. `found`: whether each measured one found a change, oldest first.
 */
export function skipsKnown(found: readonly boolean[]): boolean {
  let changed = 0
  let skips = false
  for (const [place, isChange] of found.entries()) {
    changed += Number(isChange) - Number(found[place - DECIDING] ?? false)
    if (place + 1 >= DECIDING) skips = changed <= 1 || (skips && changed < 3)
  }
  return skips
}

/** Results of refreshes without a new message so far. */
export interface MeasuredRefreshes {
  measured: number
  changed: number
  /** True if such refreshes are skipped now. */
  skips: boolean
  /** Number of sessions that skipping has saved in the last 30 days. */
  savedSessions: number
}
