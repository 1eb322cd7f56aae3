// Ctrl-C, SIGTERM and SIGHUP, in steps: the first asks for nothing more and lets what is under way land, for ten seconds at most;
// the second gives that up as well; the third ends the process where it stands, which costs no more than a kill ever does.
//
//   running ──1st──▶ stopping ──2nd, or 10 s──▶ aborted ──3rd──▶ exit 130

import { EXIT_CODES } from '../../core/errors.ts'
import { SECOND } from '../../core/time.ts'
import { endingSignals } from './signals.ts'

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
