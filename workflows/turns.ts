// Whose turn it is: windows wait in the planner's order, and one that had its turn goes behind those of its kind.
import type { WindowProgress } from '../src/core/windows.ts'

export interface WindowQueue {
  waiting: WindowProgress[]
  /** Windows in the hands of lanes. */
  held: number
}

/** New conversations, and those that were named or are known to have changed: what else there is can wait for hours. */
export const isUrgent = ({ window: { kind } }: WindowProgress): boolean =>
  kind === 'head' || kind === 'selected' || kind === 'refresh'

export const newWindowQueue = (windows: WindowProgress[]): WindowQueue => ({ waiting: [...windows], held: 0 })

/** The next window, now held; null where none waits. */
export function takeWindow(turns: WindowQueue): WindowProgress | null {
  const next = turns.waiting.shift()
  if (next === undefined) return null
  turns.held += 1
  return next
}

/** Puts a window back, behind the last of its kind, so that agents share. */
export function requeueWindow(turns: WindowQueue, progress: WindowProgress): void {
  const last = turns.waiting.findLastIndex(other => other.window.kind === progress.window.kind)
  turns.waiting.splice(last < 0 ? positionOf(turns, progress) : last + 1, 0, progress)
}

/** Where the first of a kind belongs: before history, which waits for everything else. */
function positionOf(turns: WindowQueue, progress: WindowProgress): number {
  const history = (kind: string) => kind === 'tail' || kind === 'full'
  if (history(progress.window.kind)) return turns.waiting.length
  const first = turns.waiting.findIndex(other => history(other.window.kind))
  return first < 0 ? turns.waiting.length : first
}
