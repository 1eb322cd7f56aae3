// What a failure means for its window and for the run.
import type { ErrorCode } from '../src/core/errors.ts'
import { restarted, type WindowProgress } from '../src/core/windows.ts'
import { mayRestart, refusedInVain } from './restarts.ts'
import { fail, type Run, stop } from './run.ts'
import type { Failure } from './steps.ts'

/** Probes of a failing vendor, a minute apart, before a run that does not watch gives up. */
const MAX_FAILURES = 5

const CURSOR_REFUSED: ErrorCode = 'API_BAD_REQUEST'

/** The window to go on with, or null where it is over for now. */
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
    run.turns.waiting = run.turns.waiting.filter(waiting => waiting.window.agentId !== agentId)
    return null
  }
  const refused = failure.code === CURSOR_REFUSED && progress.cursor !== null
  if (refused && mayRestart(run.restarts, progress)) return restarted(progress)
  fail(run, refused ? refusedInVain(failure, progress) : failure, agentId)
  if (failure.kind !== 'vendor') stop(run, 'failed')
  run.report.windowsLeft += 1
  return null
}
