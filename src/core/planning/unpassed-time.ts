// Windows that were opened while the clock was ahead. They claim seconds that had not passed when they were read. Two facts prove this: the clock
// shows an earlier time now, or a window with an earlier opening begins inside. With a correct clock, each window begins where earlier ones end.
import { SECOND } from '../time.ts'
import type { Window, WindowProgress } from './windows.ts'

/** Smaller differences between clocks are jitter, since answers' dates have whole seconds. */
export const JITTER_MS = 2 * SECOND

/** Times of the clocks during planning. */
export interface ClockReading {
  /** The later of both clocks. */
  latestMs: number
  settleMs: number
}

export interface CertainTime extends Pick<ClockReading, 'latestMs'> {
  /** The last second that has certainly been read: `settle` before the newest exported record. */
  certainSec: number
}

/** False for windows that read a range again: they may begin inside of others. */
const isNewRange = ({ kind, gap }: Window): boolean => (kind === 'head' || kind === 'tail') && gap === undefined

/** Ends the window at `second`; a window that would end before its beginning covers nothing. */
function endingAt(progress: WindowProgress, second: number): WindowProgress {
  const { window } = progress
  const toSec = Math.max(second, (window.fromSec ?? 0) - 1)
  return toSec < window.toSec ? { ...progress, window: { ...window, toSec } } : progress
}

/** Returns the second before the first window that begins inside of this one but was opened earlier; null for none. */
function endBeforeEarlier({ window }: WindowProgress, others: readonly WindowProgress[]): number | null {
  if (!isNewRange(window)) return null
  const begins = others
    .map(other => other.window)
    .filter(other => isNewRange(other) && other.openedAtMs < window.openedAtMs - JITTER_MS)
    .map(({ fromSec }) => fromSec ?? 0)
    .filter(fromSec => fromSec > (window.fromSec ?? 0) && fromSec <= window.toSec)
  return begins.length === 0 ? null : Math.min(...begins) - 1
}

/** Returns the windows of one agent. Finished ones that were opened while the clock was ahead end earlier. */
export function withoutUnpassedTime(
  windows: readonly WindowProgress[],
  { latestMs, certainSec }: CertainTime,
): WindowProgress[] {
  return windows.map(progress => {
    if (!progress.done) return progress
    const before = endBeforeEarlier(progress, windows)
    const known = before === null ? progress : endingAt(progress, before)
    return progress.window.openedAtMs > latestMs + JITTER_MS ? endingAt(known, certainSec) : known
  })
}
