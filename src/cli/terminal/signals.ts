// The signals that ask a process to end: Ctrl-C, `kill`, and a terminal that is closed.
import { EXIT_CODES } from '../../core/errors.ts'

export const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
export type EndingSignal = (typeof ENDING_SIGNALS)[number]

/** Ends the process with 130 at such a signal, from now on, unless somebody else listens to it too. */
export function endOnSignals(): void {
  for (const signal of ENDING_SIGNALS) {
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(EXIT_CODES.interrupted)
    })
  }
}
