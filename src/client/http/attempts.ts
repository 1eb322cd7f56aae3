// Retries a request until it is answered, refused, or out of attempts.
//
//   slot ─▶ allow? ─▶ send ─▶ outcome ─▶ value
//     ▲ │no │ transient
//     │ ▼ ▼
//     └───────┼───────────────────────── back off
//             ▼
//         the last error
//
// An attempt may cost quota regardless of its outcome, so the observer is notified of each allowed attempt exactly
// once, before its answer is used.
import { ConvohouseError, type ErrorCode, isCode } from '../../core/errors.ts'
import type { Slots } from '../../core/slots.ts'
import { SECOND } from '../../core/time.ts'
import { NOT_ALLOWED, type Sent } from './transport.ts'

export interface AttemptObserver {
  /**
   * Returns false to prevent an attempt, counted from 1. Called before each attempt, and again right before its bytes are written: a
   * process that was frozen while it connected must send nothing after its lease is over.
   */
  allow(attempt: number): boolean
  /** Called once for each allowed attempt, before its answer is used. */
  outcome(outcome: AttemptOutcome): void | Promise<void>
}

/** Times are ms of this machine's clock. */
export interface AttemptOutcome {
  attempt: number
  sentAtMs: number
  receivedAtMs: number
  /** Null if no answer arrived. */
  status: number | null
  /** True if nothing was sent, so that the vendor neither counted nor billed the attempt. */
  unsent: boolean
  /** Code of the attempt's error; null if the answer is usable. */
  error: ErrorCode | null
  /** `Retry-After`; null if absent. */
  retryAfterMs: number | null
}

export interface AttemptPolicy {
  maxAttempts: number
  random: () => number
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  /**
   * As many as connections. Requests queue here and not in undici, so that timeouts and send times begin, and lease deadlines
   * are checked, only when a request leaves the queue.
   */
  slots: Slots
}

interface Attempts<T> {
  /** Sends the request, unless `allowed` returns false once a connection is open. */
  send: (allowed: () => boolean) => Promise<Sent>
  /** Parses the answer. @throws the attempt's error where the answer is not usable */
  read: (sent: Sent, attempt: number) => T
  /** Builds the error of an attempt that was not made. */
  unsent: (attempt: number, why: 'stopped' | 'not-allowed') => ConvohouseError
  /** Called after a 401: true if another token is known, so that the request is immediately sent again. */
  renews: () => boolean
  /** Number of attempts that may be repeated although they reached the vendor. */
  repeatsSent: number
  observer: AttemptObserver | undefined
  signal: AbortSignal | undefined
}

type Result<T> = { value: T } | { error: unknown }
/** `unsent`: nothing was sent. */
type Attempted<T> = Result<T> & { unsent: boolean }

/** Runs the attempts. @throws the error of the last one */
export async function runAttempts<T>(policy: AttemptPolicy, attempts: Attempts<T>): Promise<T> {
  let failure: ConvohouseError | undefined
  for (let attempt = 1; ; attempt++) {
    if (failure && !(await waitForRetry(policy, attempts.signal, attempt - 1, failure)))
      throw attempts.unsent(attempt, 'stopped')
    const result = await policy.slots.run(() => attemptOnce(attempts, attempt, failure), attempts.signal)
    if (result === undefined) throw attempts.unsent(attempt, 'stopped')
    if ('value' in result) return result.value
    if (isCode(result.error, 'API_UNAUTHORIZED') && attempts.renews()) continue
    if (attempt >= policy.maxAttempts || !isRetryable(result.error)) throw result.error
    if (!result.unsent && attempt > attempts.repeatsSent) throw result.error
    failure = result.error
  }
}

async function attemptOnce<T>(
  { send, read, unsent: notSent, observer }: Attempts<T>,
  attempt: number,
  failure: ConvohouseError | undefined,
): Promise<Attempted<T>> {
  const allowed = () => observer?.allow(attempt) ?? true
  const sent = allowed() ? await send(allowed) : null
  if (sent === null || sent.breakdown?.reason === NOT_ALLOWED) throw failure ?? notSent(attempt, 'not-allowed')
  const result = settle(() => read(sent, attempt))
  const unsent = sent.exchange === null && sent.breakdown.unsent === true
  await observer?.outcome({
    attempt,
    sentAtMs: sent.sentAtMs,
    receivedAtMs: sent.receivedAtMs,
    status: sent.exchange?.status ?? null,
    unsent,
    error: 'error' in result ? codeOf(result.error) : null,
    retryAfterMs: sent.exchange?.retryAfterMs ?? null,
  })
  return { ...result, unsent }
}

function settle<T>(read: () => T): Result<T> {
  try {
    return { value: read() }
  } catch (error) {
    return { error }
  }
}

const codeOf = (error: unknown): ErrorCode => (error instanceof ConvohouseError ? error.code : 'API_PROTOCOL')

/**
 * True for errors to retry. The governor, not this file, decides when to retry after a 429. A complete answer that
 * cannot be read is not retried: the same request would be billed again, and probably answered in the same way.
 */
function isRetryable(error: unknown): error is ConvohouseError {
  if (!isCode(error, 'API_UNAVAILABLE', 'API_TIMEOUT', 'API_NOT_JSON')) return false
  const status = Number(error.facts.status)
  const isComplete = status >= 200 && status <= 299 && error.facts.reason === undefined
  return !isComplete && retryAfterOf(error) <= LONGEST_RETRY_AFTER_MS
}

const retryAfterOf = ({ facts }: ConvohouseError): number => Number(facts.retryAfterMs ?? 0)

/** Waits before a retry; false if the signal ended the wait. */
async function waitForRetry(
  { random, sleep }: AttemptPolicy,
  signal: AbortSignal | undefined,
  attempt: number,
  failure: ConvohouseError,
): Promise<boolean> {
  try {
    await sleep(backoffMs(attempt, random(), retryAfterOf(failure)), signal)
  } catch (error) {
    if (!signal?.aborted) throw error
  }
  return !signal?.aborted
}

const BASE_MS = 500
const CAP_MS = 20 * SECOND

/** If the vendor requests a longer wait, the attempt is not retried here, and the caller decides. */
const LONGEST_RETRY_AFTER_MS = 60 * SECOND

/**
 * Returns the wait after failed attempt `attempt` (from 1), in ms: exponential with full jitter, so that clients that
 * failed at the same time do not retry at the same time, plus `Retry-After`.
 * @param random a number in [0, 1)
 */
export function backoffMs(attempt: number, random: number, retryAfterMs = 0): number {
  return retryAfterMs + Math.floor(random * Math.min(CAP_MS, BASE_MS * 2 ** (attempt - 1)))
}
