// Runs an activity with heartbeats and the signals that end it.
import { activityInfo, Context } from '@temporalio/activity'
import type { Client } from '@temporalio/client'
import type { Call } from '../../../steps/export/export-steps.ts'
import { asFailure } from '../failure.ts'

/** The two stages of a worker's shutdown. */
export interface ShutdownSignals {
  /** Finish requests in flight, send no more. */
  stopping: AbortSignal
  /** Abort requests in flight. */
  aborted: AbortSignal
}

/** Heartbeats per heartbeat timeout: some may be missed, and a cancellation, which arrives in the answer to a heartbeat, arrives soon. */
const HEARTBEATS = 10

/** Asks the server whether this attempt is still current: false if it timed out or was cancelled, or if the server cannot be reached. */
export async function isActivityCurrent({ activity }: Client): Promise<boolean> {
  try {
    await activity.heartbeat(activityInfo().taskToken)
    return true
  } catch {
    return false
  }
}

/**
 * Runs an activity's work. Sends a heartbeat for every landed page and every tenth of the heartbeat timeout, so a frozen process is
 * noticed. A cancelled activity finishes its request in flight and returns normally. `progress` replaces what heartbeats contain.
 */
export async function asActivity<T>(
  ending: ShutdownSignals,
  work: (call: Call, progress: (details: object) => void) => Promise<T>,
): Promise<T> {
  const context = Context.current()
  let pages = 0
  let details: object | null = null
  const beat = () => context.heartbeat(details ?? { pages })
  const timer = setInterval(beat, (activityInfo().heartbeatTimeoutMs ?? 10_000) / HEARTBEATS)
  const onPage = () => {
    pages += 1
    beat()
  }
  try {
    const stopping = AbortSignal.any([context.cancellationSignal, ending.stopping])
    const progress = (now: object) => {
      details = now
      beat()
    }
    return await work({ signal: ending.aborted, stopping, onPage }, progress)
  } catch (error) {
    throw asFailure(error)
  } finally {
    clearInterval(timer)
  }
}
