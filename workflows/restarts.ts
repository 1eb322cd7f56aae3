// Cursors that the vendor refuses after pages have landed under them: the window is begun anew behind what landed, a few times.
import { sortOf, type WindowProgress } from '../src/core/windows.ts'
import type { Failure } from './steps.ts'

export interface Restart {
  /** The furthest `ts` from which it was begun anew, and the furthest page that was reached from there. */
  fromMs: number | null
  sequence: number
  /** In a row that came no further. */
  vain: number
}

/** By agent and window. */
export type Restarts = Map<string, Restart>

/** Each of them pays for the conversations of one second again. */
const MAX_VAIN_RESTARTS = 3

/**
 * A cursor that was refused after pages had landed under it: the window goes on from the last second that landed. Where a page
 * holds conversations of one second only, that is the page itself, and what is behind it is reached when its cursor is good.
 */
export function mayRestart(restarts: Restarts, progress: WindowProgress): boolean {
  const { window, lastTsMs, sequence } = progress
  const key = `${window.agentId} ${window.name}`
  const before = restarts.get(key)
  const ahead = before === undefined ? 1 : isAhead(progress, before.fromMs)
  const further = ahead > 0 || (ahead === 0 && sequence > before!.sequence)
  const vain = further ? 0 : before!.vain + 1
  restarts.set(key, further ? { fromMs: lastTsMs, sequence, vain } : { ...before!, vain })
  return vain < MAX_VAIN_RESTARTS
}

/** Above 0 where the window has come further than that `ts`, 0 where it stands there still. */
function isAhead({ window, lastTsMs }: WindowProgress, fromMs: number | null): number {
  if (lastTsMs === fromMs || lastTsMs === null) return 0
  if (fromMs === null) return 1
  return sortOf(window.kind) === 'asc' ? lastTsMs - fromMs : fromMs - lastTsMs
}

/** As a person should read it, once the window has been begun anew often enough. */
export const refusedInVain = (failure: Failure, { window }: WindowProgress): Failure => ({
  ...failure,
  what: `${failure.what}. Window ${window.name} of agent ${window.agentId} was begun anew ${MAX_VAIN_RESTARTS - 1} times and came no further.`,
  hint: 'Run the sync again later. What landed is kept, and the window goes on from the last second that landed.',
})
