// Windows that rest: begun anew again and again without coming further, each time for the sessions of a second or more. A sync that
// somebody asked for tries them at once; one that comes by itself leaves them alone for a while, longer each time.
import { DAY, MINUTE } from './time.ts'
import type { WindowProgress } from './windows.ts'

/** Generations in a row that came no further before a window rests. */
const MAX_VAIN_GENERATIONS = 3
const MIN_BACKOFF_MS = 15 * MINUTE
const MAX_BACKOFF_MS = DAY

/** How long a window rests behind its last page, ms; 0 where it comes forward. */
export function backoffMs({ vain = 0 }: Pick<WindowProgress, 'vain'>): number {
  if (vain < MAX_VAIN_GENERATIONS) return 0
  // A day is reached long before a power of two that has no number.
  return Math.min(MAX_BACKOFF_MS, MIN_BACKOFF_MS * 2 ** Math.min(vain - MAX_VAIN_GENERATIONS, 20))
}

/** Until when it rests, ms; null where it does not, or no longer. `lastSentMs` is when its newest page was asked for. */
export function backoffUntilMs(progress: WindowProgress, lastSentMs: number, nowMs: number): number | null {
  const rest = backoffMs(progress)
  return rest > 0 && lastSentMs + rest > nowMs ? lastSentMs + rest : null
}
