// Lanes: several windows are read at the same time, each as the governor says, in turn with those that wait.
import { type Decision, requestLease } from '../src/core/governor.ts'
import type { WindowProgress } from '../src/core/windows.ts'
import { askFor, fetchLease, probeLease } from './leases.ts'
import { handOver, notifyChange, type Run, stop } from './run.ts'
import { isUrgent, requeueWindow, takeWindow } from './turns.ts'

/** Windows that are read at the same time. */
export const LANES = 4

/** Nothing more is begun here: newer work comes first, and what is left is planned anew behind it. */
const giveWay = (run: Run): void => stop(run, 'preempted')

/** True where other work waits that comes before this window. Conversations that were named are read to their end. */
const comesLater = ({ host }: Run, { window }: WindowProgress): boolean =>
  window.kind !== 'selected' && host.shouldYield?.() === true

async function waitFor(
  run: Run,
  progress: WindowProgress,
  decision: Extract<Decision, { kind: 'wait' }>,
): Promise<void> {
  // Only a vendor who says when to come back pauses a run for longer than a minute.
  const turnedAway =
    decision.reason === 'paused' && decision.untilMs > run.host.now() + run.governor.options.hourMs / 60
  if ((decision.reason === 'hour' || turnedAway) && !run.request.wait) return stop(run, 'hour-spent')
  // What other leases hold comes back in moments: no news.
  if (decision.reason !== 'leased') {
    if (comesLater(run, progress)) return giveWay(run)
    const { untilMs, reason } = decision
    run.host.notify({
      kind: 'waiting',
      untilMs,
      reason,
      ...(reason === 'paused' && run.pausedBy && { code: run.pausedBy }),
    })
    run.loader.idle()
  }
  await run.host.sleepUntil(decision.untilMs, run.changed.promise)
}

/**
 * The period's sessions are spent for this kind of window, as far as was told. After an hour that may be news of a period
 * that is over, so the vendor is probed; before that the window is left for a later sync: no run sleeps for a period.
 */
async function periodSpent(run: Run, progress: WindowProgress): Promise<void> {
  const untilMs = (run.governor.period.reportedAtMs ?? 0) + run.governor.options.hourMs
  if (untilMs <= run.host.now()) {
    const [governor, decision] = requestLease(
      run.governor,
      { lease: run.host.newId(), kind: 'probe', wants: 1 },
      run.host.now(),
    )
    run.governor = governor
    return act(run, progress, decision)
  }
  run.report.windowsLeft += 1
  if (run.report.outcome === 'done') run.report.outcome = 'period-spent'
}

async function act(run: Run, progress: WindowProgress, decision: Decision): Promise<void> {
  if (decision.kind === 'grant') {
    return decision.grant.kind === 'probe'
      ? probeLease(run, progress, decision.grant)
      : fetchLease(run, progress, decision.grant)
  }
  if (decision.kind === 'refuse' && decision.reason === 'period') return periodSpent(run, progress)
  requeueWindow(run.turns, progress)
  if (decision.kind === 'refuse') return stop(run, 'limit-reached')
  return waitFor(run, progress, decision)
}

async function turn(run: Run, progress: WindowProgress): Promise<void> {
  if (isUrgent(progress) || !comesLater(run, progress)) return act(run, progress, askFor(run, progress))
  requeueWindow(run.turns, progress)
  giveWay(run)
}

/** A lane takes windows in turn until none is left, neither waiting nor in another lane's hands. */
export async function lane(run: Run): Promise<void> {
  while (!run.stopped) {
    if (run.host.untilResumed) await run.host.untilResumed()
    if (run.host.cancelled()) return stop(run, 'interrupted')
    if (run.stopped) return
    if (run.host.shouldHandOver?.()) return handOver(run)
    const progress = takeWindow(run.turns)
    if (progress === null) {
      if (run.turns.held === 0) return
      await run.changed.promise
      continue
    }
    try {
      await turn(run, progress)
    } finally {
      run.turns.held -= 1
      // Lanes without a window wait for one to come back: now none will.
      if (run.turns.held === 0 && run.turns.waiting.length === 0) notifyChange(run)
    }
  }
}
