// Backoff of windows that restart again and again without progress; each restart bills the conversations of a second or more again. A
// sync that a person requested retries them at once, an unattended one after growing pauses.
import { DAY, MINUTE } from '../time.ts'
import type { WindowProgress } from './windows.ts'

/** Consecutive generations without progress before a window backs off. */
const MAX_VAIN_GENERATIONS = 3
const MIN_BACKOFF_MS = 15 * MINUTE
const MAX_BACKOFF_MS = DAY

/** Pause after a window's last page, ms; 0 while it makes progress. */
export function backoffMs({ vain = 0 }: Pick<WindowProgress, 'vain'>): number {
  if (vain < MAX_VAIN_GENERATIONS) return 0
  // The maximum is reached long before the power overflows.
  return Math.min(MAX_BACKOFF_MS, MIN_BACKOFF_MS * 2 ** Math.min(vain - MAX_VAIN_GENERATIONS, 20))
}

/** End of the pause, ms; null where there is none, or it has passed. `lastSentMs`: when the newest page was requested. */
export function backoffUntilMs(progress: WindowProgress, lastSentMs: number, nowMs: number): number | null {
  const pauseMs = backoffMs(progress)
  return pauseMs > 0 && lastSentMs + pauseMs > nowMs ? lastSentMs + pauseMs : null
}
