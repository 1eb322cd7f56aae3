// The signals that ask a process to end: Ctrl-C, `kill`, and a terminal that is closed.
import { EXIT_CODES } from '../../core/errors.ts'
import { SECOND } from '../../core/time.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
export type EndingSignal = (typeof SIGNALS)[number]

/** What a parent's word is told as, in place of a signal. */
const STOP = 'stop' as NodeJS.Signals

const ending = new Set<NodeJS.Signals>(SIGNALS)

/** Of a parent that passes on what it is told: a signal of the whole process group (Ctrl-C) reaches it, too. */
const PASSED_ON_WITHIN_MS = SECOND

/**
 * From now on the parent's word ends this process, and no signal. SIGTERM to this process alone is handed up: it is what a user sends to the
 * process that holds the warehouse, and it would only be started again.
 */
export function endOnParentRequest(): { stop: () => void } {
  let told = false
  for (const signal of SIGNALS) {
    ending.delete(signal)
    process.on(signal, () => {})
  }
  process.on('SIGTERM', () => {
    setTimeout(() => {
      if (!told) process.kill(process.ppid, 'SIGTERM')
    }, PASSED_ON_WITHIN_MS).unref()
  })
  ending.add(STOP)
  return {
    stop() {
      told = true
      process.emit(STOP as 'SIGTERM', STOP)
    },
  }
}

/** Those that ask this process to end. */
export const endingSignals = (): NodeJS.Signals[] => [...ending]

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
