// The signals that ask a process to end: Ctrl-C (SIGINT), `kill` (SIGTERM), and a terminal that is closed (SIGHUP). A command that works
// for long ends in steps: the first signal starts no new work and lets requests in flight land, for ten seconds at most; the second aborts
// them; the third exits at once, which costs no more than a kill.
//
//   running ──1st──▶ stopping ──2nd, or 10 s──▶ aborted ──3rd──▶ exit 130
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

const GRACE_MS = 10 * SECOND

export interface Stop {
  /** Nothing more is to be begun. */
  stopping: AbortSignal
  /** What is under way is to be given up. */
  aborted: AbortSignal
  /** Gives the signals back to Node. */
  release(): void
}

/** Said at the first signal. */
export const STOPPING = 'Stopping: what is under way is still taken in. Once more (Ctrl-C) gives it up.'

/** Resolves at the first signal. */
export const untilStopping = ({ stopping }: Stop): Promise<void> =>
  new Promise(resolve => {
    if (stopping.aborted) resolve()
    stopping.addEventListener('abort', () => resolve(), { once: true })
  })

/** Takes the signals over until released. A reader of standard output who has gone counts as one of them. */
export function stopOnSignals(onStopping: () => void = () => {}): Stop {
  const signals = endingSignals()
  const stopping = new AbortController()
  const aborted = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const abort = () => aborted.abort(new Error('stopped'))
  const step = () => {
    if (aborted.signal.aborted) process.exit(EXIT_CODES.interrupted)
    if (stopping.signal.aborted) return abort()
    stopping.abort(new Error('stopped'))
    timer = setTimeout(abort, GRACE_MS).unref()
    onStopping()
  }
  const gone = () => {
    if (!stopping.signal.aborted) step()
  }
  for (const signal of signals) process.on(signal, step)
  process.stdout.on('error', gone)
  return {
    stopping: stopping.signal,
    aborted: aborted.signal,
    release() {
      clearTimeout(timer)
      for (const signal of signals) process.off(signal, step)
      process.stdout.off('error', gone)
    },
  }
}
