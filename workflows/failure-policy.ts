// The failure policy: the effect of a failure on its window and on the run.
//
//   interrupted                  the run ends
//   rate limited                 the governor pauses; the run waits, or ends with `--no-wait`
//   transient                    the governor pauses; after several failures in a row the run fails
//   agent not found              its windows are dropped
//   cursor refused               the window restarts from the last second that landed, a few times
//   vendor (other)               the window ends with the failure
//   input, access, storage, …    the run fails
import type { ErrorCode } from '../src/core/errors.ts'
import { restarted, sortOf, type WindowProgress } from '../src/core/planning/windows.ts'
import { fail, type Restarts, type Run, stop } from './run.ts'
import type { Failure } from './steps.ts'

/** Consecutive failures, a minute apart, that a run survives; the next one ends it. */
const MAX_FAILURES = 5

/** Consecutive restarts without progress after which a window is given up: each restart bills the conversations of one second again. */
const MAX_VAIN_RESTARTS = 3

const CURSOR_REFUSED: ErrorCode = 'API_BAD_REQUEST'

/** Applies a failure to its window and the run. Returns the window to continue with; null where this run reads no more of it. */
export function applyFailurePolicy(run: Run, progress: WindowProgress, failure: Failure): WindowProgress | null {
  const { agentId } = progress.window
  if (failure.code === 'INTERRUPTED') {
    stop(run, 'interrupted')
    return progress
  }
  if (failure.kind === 'transient') run.pausedBy = failure.code
  if (failure.code === 'API_RATE_LIMITED') {
    if (!run.request.wait) stop(run, 'hour-spent')
    return progress
  }
  if (failure.kind === 'transient') {
    run.failing += 1
    run.unanswered = failure
    if (run.failing > MAX_FAILURES && !run.stopped) {
      fail(run, failure, agentId)
      stop(run, 'failed')
    }
    return progress
  }
  if (failure.code === 'API_NOT_FOUND') {
    if (!run.report.agentsGone.includes(agentId)) run.report.agentsGone.push(agentId)
    run.queue.waiting = run.queue.waiting.filter(waiting => waiting.window.agentId !== agentId)
    return null
  }
  const isCursorRefused = failure.code === CURSOR_REFUSED && progress.cursor !== null
  if (isCursorRefused && mayRestart(run.restarts, progress)) return restarted(progress)
  fail(run, isCursorRefused ? restartsExhausted(failure, progress) : failure, agentId)
  if (failure.kind !== 'vendor') stop(run, 'failed')
  run.report.windowsLeft += 1
  return null
}

/**
 * Counts a restart after a refused cursor; false after too many consecutive restarts without progress. Progress is a further `ts` or, where
 * a page contains conversations of one second only, a further page from the same `ts`.
 */
function mayRestart(restarts: Restarts, progress: WindowProgress): boolean {
  const { window, lastTsMs, sequence } = progress
  const key = `${window.agentId} ${window.name}`
  const before = restarts.get(key)
  const distance = before === undefined ? 1 : distanceFrom(progress, before.fromMs)
  const isFurther = distance > 0 || (distance === 0 && sequence > before!.sequence)
  const vain = isFurther ? 0 : before!.vain + 1
  restarts.set(key, isFurther ? { fromMs: lastTsMs, sequence, vain } : { ...before!, vain })
  return vain < MAX_VAIN_RESTARTS
}

/** How far the window has read beyond a `ts`: above 0 where it is beyond, 0 where it is still there. */
function distanceFrom({ window, lastTsMs }: WindowProgress, fromMs: number | null): number {
  if (lastTsMs === fromMs || lastTsMs === null) return 0
  if (fromMs === null) return 1
  return sortOf(window.kind) === 'asc' ? lastTsMs - fromMs : fromMs - lastTsMs
}

const restartsExhausted = (failure: Failure, { window }: WindowProgress): Failure => ({
  ...failure,
  what: `${failure.what}. Window ${window.name} of agent ${window.agentId} was restarted ${MAX_VAIN_RESTARTS - 1} times without further progress.`,
  hint: 'Run the sync again later. What landed is kept, and the window continues from the last landed conversation.',
})
