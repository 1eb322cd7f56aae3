// What an activity has of its surroundings: heartbeats while it works, and the signals that end it.
import { activityInfo, Context } from '@temporalio/activity'
import type { Client } from '@temporalio/client'
import type { Call } from '../../../steps/export-steps.ts'
import { asFailure } from '../failure.ts'

/** How the worker ends. */
export interface ShutdownSignals {
  /** What is under way is still finished, and nothing more is asked for. */
  stopping: AbortSignal
  /** What is under way is given up. */
  aborted: AbortSignal
}

/** Often enough that a missed one is no reason to think us dead, and that a cancellation, which a heartbeat's answer brings, comes soon. */
const HEARTBEATS = 10

/** Asks the server whether this activity is still ours: false where it has given it up or cancelled it, and where it is away. */
export async function isActivityCurrent({ activity }: Client): Promise<boolean> {
  try {
    await activity.heartbeat(activityInfo().taskToken)
    return true
  } catch {
    return false
  }
}

/**
 * Does an activity's work. A page that lands is told with a heartbeat, and so is every tenth of the time after which we
 * would be thought dead: a frozen process tells none. A cancelled activity finishes what is under way, and answers.
 */
export async function asActivity<T>(ending: ShutdownSignals, work: (call: Call) => Promise<T>): Promise<T> {
  const context = Context.current()
  let pages = 0
  const beat = () => context.heartbeat({ pages })
  const timer = setInterval(beat, (activityInfo().heartbeatTimeoutMs ?? 10_000) / HEARTBEATS)
  const onPage = () => {
    pages += 1
    beat()
  }
  try {
    const stopping = AbortSignal.any([context.cancellationSignal, ending.stopping])
    return await work({ signal: ending.aborted, stopping, onPage })
  } catch (error) {
    throw asFailure(error)
  } finally {
    clearInterval(timer)
  }
}
