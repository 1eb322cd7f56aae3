// One signal that stops a request: because its caller asks, or because a phase of it (headers, then body) takes too long.
// The whole phase is timed, not the silence between two bytes: an answer that trickles must end too.

export type Stop = 'aborted' | 'timeout'

export interface PhaseTimer {
  readonly signal: AbortSignal
  /** Why the signal fired; null while it has not. */
  readonly stopped: Stop | null
  /** Begins the next phase with its full time. */
  next(): void
  /** Lets go of the timer and of the caller's signal. */
  release(): void
}

/** Starts the first phase. */
export function startPhases(phaseMs: number, caller?: AbortSignal): PhaseTimer {
  const controller = new AbortController()
  let stopped: Stop | null = null
  const stop = (why: Stop) => {
    stopped ??= why
    controller.abort()
  }
  const onAbort = () => stop('aborted')
  const startTimer = () => setTimeout(stop, phaseMs, 'timeout')
  let timer = startTimer()
  if (caller?.aborted) onAbort()
  else caller?.addEventListener('abort', onAbort, { once: true })
  return {
    signal: controller.signal,
    get stopped() {
      return stopped
    },
    next() {
      clearTimeout(timer)
      timer = startTimer()
    },
    release() {
      clearTimeout(timer)
      caller?.removeEventListener('abort', onAbort)
    },
  }
}
