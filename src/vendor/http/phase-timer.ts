// One signal that aborts a request: at its caller's signal, or when a phase (headers, then body) takes too long. The phase is timed as a
// whole, not the silence between bytes, so that a trickling response ends too.

export type Stop = 'aborted' | 'timeout'

export interface PhaseTimer {
  readonly signal: AbortSignal
  /** Why the signal fired; null while it has not. */
  readonly stopped: Stop | null
  /** Starts the next phase with the full timeout. */
  next(): void
  /** Clears the timer and detaches from the caller's signal. */
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
