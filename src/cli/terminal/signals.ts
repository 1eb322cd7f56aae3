// The signals that ask a process to end: Ctrl-C (SIGINT), `kill` (SIGTERM), and a closed terminal (SIGHUP). A long-running command ends in
// steps. After the first signal it starts no new work and lets requests in flight land, for at most eight seconds. The second aborts them.
// The third exits at once, which is as safe as a kill. Service managers kill after ten seconds, so it ends before that.
//
//   running ──1st──▶ stopping ──2nd, or 8 s──▶ aborted ──3rd, or 9.5 s after the 1st──▶ exit 130
import { spawn } from 'node:child_process'
import { EXIT_CODES } from '../../core/errors.ts'
import { SECOND } from '../../core/time.ts'

const EXIT_WITHIN_S = 0.5

/**
 * Exits with the code. Node first waits for its threads, in which DuckDB may compute one value for minutes; if that takes longer than half
 * a second, a shell kills the process (exit code 137).
 */
export function exitNow(code: number): never {
  if (process.platform !== 'win32')
    spawn('/bin/sh', ['-c', `sleep ${EXIT_WITHIN_S}; kill -9 ${process.pid}`], {
      stdio: 'ignore',
      detached: true,
    }).unref()
  process.exit(code)
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
type EndingSignal = (typeof SIGNALS)[number]

/** Event of `process` when the parent process asks this one to stop. It is handled like a signal. */
const STOP = 'stop' as NodeJS.Signals

const ending = new Set<NodeJS.Signals>(SIGNALS)

/** Time limit for the parent's stop request after both got the same signal, since Ctrl-C reaches the entire process group. */
const PASSED_ON_WITHIN_MS = SECOND

/**
 * Lets only the parent's request end this process from now on. A SIGTERM that reaches only this process is forwarded to
 * the parent: a user who sends it wants to end the command, but the parent would only restart its child.
 */
export function endOnParentRequest(): { stop: () => void } {
  let stopped = false
  for (const signal of SIGNALS) {
    ending.delete(signal)
    process.on(signal, () => {})
  }
  process.on('SIGTERM', () => {
    setTimeout(() => {
      if (!stopped) process.kill(process.ppid, 'SIGTERM')
    }, PASSED_ON_WITHIN_MS).unref()
  })
  ending.add(STOP)
  return {
    stop() {
      stopped = true
      process.emit(STOP as 'SIGTERM', STOP)
    },
  }
}

/** Returns the signals that ask this process to end. */
const endingSignals = (): NodeJS.Signals[] => [...ending]

/** Calls the listener when the signal arrives, instead of ending the process, until the returned function is called. */
export function listenInstead(signal: EndingSignal, listener: () => void): () => void {
  ending.delete(signal)
  process.on(signal, listener)
  return () => {
    process.off(signal, listener)
    ending.add(signal)
  }
}

/** Ends the process with exit code 130 on these signals, unless the command handles them. */
export function endOnSignals(): void {
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) exitNow(EXIT_CODES.interrupted)
    })
  }
}

const GRACE_MS = 8 * SECOND
const END_WITHIN_MS = 9.5 * SECOND

export interface Stop {
  /** Aborted at the first signal: no new work. */
  stopping: AbortSignal
  /** Aborted at the second signal or after eight seconds: requests in flight are aborted. */
  aborted: AbortSignal
  /** Stops listening to the signals. */
  release(): void
}

/** Logged at the first signal. */
export const STOPPING = 'Stopping: requests in flight still land. Press Ctrl-C again to abort them.'

/** Resolves at the first signal. */
export const untilStopping = ({ stopping }: Stop): Promise<void> =>
  new Promise(resolve => {
    if (stopping.aborted) resolve()
    stopping.addEventListener('abort', () => resolve(), { once: true })
  })

/** Handles the signals until released. A closed standard output counts as the first signal. */
export function stopOnSignals(onStopping: () => void = () => {}): Stop {
  const signals = endingSignals()
  const stopping = new AbortController()
  const aborted = new AbortController()
  let timers: NodeJS.Timeout[] = []
  const end = () => exitNow(EXIT_CODES.interrupted)
  const abort = () => aborted.abort(new Error('stopped'))
  const step = () => {
    if (aborted.signal.aborted) end()
    if (stopping.signal.aborted) return abort()
    stopping.abort(new Error('stopped'))
    timers = [setTimeout(abort, GRACE_MS).unref(), setTimeout(end, END_WITHIN_MS).unref()]
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
      for (const timer of timers) clearTimeout(timer)
      for (const signal of signals) process.off(signal, step)
      process.stdout.off('error', gone)
    },
  }
}
