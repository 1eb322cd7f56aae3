// A host of the orchestration on simulated time.

import type { Host, ProgressUpdate } from '../../../workflows/host.ts'
import type { Steps } from '../../../workflows/steps.ts'
import type { SimulatedTime } from './simulated-time.ts'

/** Returns a host. A sleep ends at its simulated time or when it is woken; it throws when `signal` aborts. */
export function simulatedHost(
  time: SimulatedTime,
  options: { signal: AbortSignal; notify(update: ProgressUpdate): void },
): Host {
  const { signal, notify } = options
  let ids = 0
  return {
    now: time.now,
    newId: () => `lease-${++ids}`,
    cancelled: () => signal.aborted,
    notify,
    async sleepUntil(untilMs, wake) {
      const woken = new AbortController()
      const slept = time.sleepUntil(untilMs, AbortSignal.any([signal, woken.signal])).catch(error => {
        if (signal.aborted) throw error
      })
      await Promise.race([slept, wake])
      woken.abort()
    },
  }
}

/** Wraps steps so that the clock does not advance while one of them runs. */
export const timed = (steps: Steps, { during }: SimulatedTime): Steps => ({
  prepare: request => during(() => steps.prepare(request)),
  fetchPages: input => during(() => steps.fetchPages(input)),
  probe: input => during(() => steps.probe(input)),
  load: input => during(() => steps.load(input)),
  finish: input => during(() => steps.finish(input)),
})
