// The signals that ask a process to end: Ctrl-C, `kill`, and a terminal that is closed.
import { EXIT_CODES } from '../../core/errors.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
export type EndingSignal = (typeof SIGNALS)[number]

const ending = new Set<EndingSignal>(SIGNALS)

/** Those that ask this process to end. */
export const endingSignals = (): EndingSignal[] => [...ending]

/** From now on that signal asks for something else, until what is returned is called. */
export function listenInstead(signal: EndingSignal, listener: () => void): () => void {
  ending.delete(signal)
  process.on(signal, listener)
  return () => {
    process.off(signal, listener)
    ending.add(signal)
  }
}

/** Ends the process with 130 at such a signal, from now on, unless somebody else listens to it too. */
export function endOnSignals(): void {
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(EXIT_CODES.interrupted)
    })
  }
}
