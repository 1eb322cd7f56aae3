// The failure policy: the effect of a failure on its window and on the run. Failures of a page that the vendor answers in smaller parts are handled
// elsewhere.
//
//   interrupted the run ends
//   agent not found its windows are dropped
//   vendor (other) the window ends with the failure
//   input, storage the run fails
//   transient, access the agent is a suspect: its windows wait behind those of all other agents
//
// An answer to another agent's export shows that a suspect's failures affect only that agent: its windows are then left to a later run. Otherwise
// they affect the account. After a transient failure the governor pauses the account, and after several in a row the run fails. Refusals fail the
// run once every remaining agent was refused, or many in a row, and none was answered. If one was, it is requested again, and the run fails only if
// that is refused, too.
import type { WindowProgress } from '../src/core/planning/windows.ts'
import { fail, leaveAgent, type Run, type Suspect, stop } from './run.ts'
import type { Failure } from './steps.ts'

/** Consecutive failures, a minute apart, that a run survives; the next one ends it. */
const MAX_FAILURES = 5

/** Consecutive 429, a minute apart, that a run survives, since the vendor's limit is hourly (section 8). */
const MAX_LIMITED = 90

/** Number of 429 that a page's 429 counts as: a probe had been answered before it, so that the limit may be that of the page. */
const LIMITED_PAGE = 18

/** Number of consecutively refused agents that shows that the account is refused. An invalid token usually affects the account. */
const MAX_REFUSED = 25
const MAX_UNAUTHORIZED = 3

/** Number of consecutive failures after which an agent is left to a later run, once they affect only that agent. */
const MAX_ALONE = 3

/** Applies a failure to its window and the run. Returns the window to continue with; null if this run reads no more of it. */
export function applyFailurePolicy(
  run: Run,
  progress: WindowProgress,
  failure: Failure,
  { isProbe = false } = {},
): WindowProgress | null {
  const { agentId } = progress.window
  const { code, kind } = failure
  if (code === 'INTERRUPTED') {
    stop(run, 'interrupted')
    return progress
  }
  if (code === 'API_NOT_FOUND') {
    if (!run.report.agentsGone.includes(agentId)) run.report.agentsGone.push(agentId)
    run.queue.waiting = run.queue.waiting.filter(waiting => waiting.window.agentId !== agentId)
    return null
  }
  if (kind === 'transient') run.pausedBy = code
  if (code === 'API_RATE_LIMITED') run.limited += isProbe ? 1 : LIMITED_PAGE
  if (code === 'API_RATE_LIMITED' && (!run.request.wait || run.limited > MAX_LIMITED)) {
    stop(run, 'hour-spent')
    return progress
  }
  if (kind !== 'transient' && kind !== 'access') {
    fail(run, failure, agentId)
    if (kind !== 'vendor') stop(run, 'failed')
    run.report.windowsLeft += 1
    return null
  }
  const suspect = suspectOf(run, agentId, failure)
  if (suspect.isAlone && suspect.failures >= MAX_ALONE) {
    leaveSuspect(run, suspect)
    run.report.windowsLeft += 1
    return null
  }
  if (kind === 'transient' && code !== 'API_RATE_LIMITED') countUnanswered(run, suspect)
  if (kind === 'access' && run.answered.length === 0 && areManyRefused(run)) failAccount(run, failure)
  return progress
}

/**
 * True if refusals may affect the account although it was answered in this run: before a window of one of several
 * refused agents, and after many refusals in a row. An agent that was answered is then requested again.
 */
export function doubtsAccount(run: Run, { window }: WindowProgress): boolean {
  const refused = refusedAgents(run)
  const isNext = refused.some(({ agentId }) => agentId === window.agentId)
  return run.answered.length > 0 && (isNext ? refused.length > 1 : areManyRefused(run))
}

/**
 * Applies the refusal of a suspect's agent before a request of its window, which is taken once no other window is
 * waiting or in progress. True if the window must not be requested.
 */
export function isRefused(run: Run, { window }: WindowProgress): boolean {
  const suspect = run.suspects.find(({ agentId }) => agentId === window.agentId)
  if (suspect?.failure.kind !== 'access') return false
  const others = run.answered.some(agentId => agentId !== window.agentId)
  if (suspect.isAlone || (others && run.suspects.length === 1)) {
    leaveSuspect(run, suspect)
    run.report.windowsLeft += 1
  } else failAccount(run, suspect.failure)
  return true
}

/** Records that the vendor answered an export of that agent. `isProbe`: an empty window, which does not show that its pages are within the limit. */
export function exportAnswered(run: Run, answeredId: string, isProbe: boolean): void {
  run.failing = 0
  if (!isProbe) run.limited = 0
  run.suspects = run.suspects
    .filter(({ agentId, failure }) => agentId !== answeredId || (isProbe && failure.code === 'API_RATE_LIMITED'))
    .map(suspect => ({ ...suspect, isAlone: suspect.isAlone || suspect.agentId !== answeredId }))
  if (run.answered.length < 2 && !run.answered.includes(answeredId)) run.answered = [...run.answered, answeredId]
}

/** Blames the failures so far on their agents alone. */
export function blameAgents(run: Run): void {
  run.suspects = run.suspects.map(suspect => ({ ...suspect, isAlone: true }))
}

/** Counts the failure of an agent. */
function suspectOf(run: Run, agentId: string, failure: Failure): Suspect {
  const known = run.suspects.find(suspect => suspect.agentId === agentId)
  const before = known?.failure.code === failure.code ? known.failures : 0
  const suspect = { agentId, failure, failures: before + 1, isAlone: known?.isAlone ?? false }
  run.suspects = [...run.suspects.filter(other => other !== known), suspect]
  return suspect
}

/** Leaves the agent to a later run. */
function leaveSuspect(run: Run, { agentId, failure }: Suspect): void {
  fail(run, failure, agentId)
  leaveAgent(run, agentId)
  run.suspects = run.suspects.filter(suspect => suspect.agentId !== agentId)
}

function countUnanswered(run: Run, { failure }: Suspect): void {
  run.failing += 1
  run.unanswered = failure
  if (run.failing <= MAX_FAILURES || run.stopped) return
  fail(run, failure, null)
  stop(run, 'failed')
}

const refusedAgents = ({ suspects }: Run): Suspect[] =>
  suspects.filter(({ failure, isAlone }) => failure.kind === 'access' && !isAlone)

function areManyRefused(run: Run): boolean {
  const refused = refusedAgents(run)
  const isUnauthorized = refused.some(({ failure }) => failure.code === 'API_UNAUTHORIZED')
  return refused.length >= (isUnauthorized ? MAX_UNAUTHORIZED : MAX_REFUSED)
}

export function failAccount(run: Run, failure: Failure): void {
  if (!run.stopped) fail(run, failure, null)
  stop(run, 'failed')
}
