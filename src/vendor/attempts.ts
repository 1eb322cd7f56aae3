// Tries a request until it is answered, refused, or out of attempts.
//
//   slot ─▶ allow? ─▶ send ─▶ outcome ─▶ value
//     ▲       │no        (always told)     │ transient
//     │       ▼                            ▼
//     └───────┼───────────────────────── back off
//             ▼
//         the last error
//
// An attempt may cost quota however it ends, so each one that was allowed is told of exactly once, before anything else.

import { ConvohouseError, type ErrorCode, isCode } from '../core/errors.ts'
import { backoffMs, LONGEST_RETRY_AFTER_MS } from './backoff.ts'
import type { Slots } from './slots.ts'
import type { Sent } from './transport.ts'

export interface AttemptObserver {
  /** Asked right before each attempt leaves, the first included (counted from 1). No means that it is not made. */
  allow(attempt: number): boolean | Promise<boolean>
  /** Told of each attempt that was allowed, once, before its answer is used. */
  outcome(outcome: AttemptOutcome): void | Promise<void>
}

/** Times are ms of this machine's clock. */
export interface AttemptOutcome {
  attempt: number
  sentAtMs: number
  receivedAtMs: number
  /** Null where no answer came. */
  status: number | null
  /** Nothing was sent: the vendor can neither have counted nor billed it. */
  unsent: boolean
  /** Null where the answer can be used. */
  error: ErrorCode | null
  /** How long the vendor asks to wait; null where it does not say. */
  retryAfterMs: number | null
}

export interface AttemptPolicy {
  maxAttempts: number
  random: () => number
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  slots: Slots
}

export interface Attempts<T> {
  send: () => Promise<Sent>
  /** Turns what was sent back into a value, or throws the error that it amounts to. */
  read: (sent: Sent, attempt: number) => T
  /** The error of an attempt that was not made. */
  unsent: (attempt: number, why: 'stopped' | 'not-allowed') => ConvohouseError
  observer: AttemptObserver | undefined
  signal: AbortSignal | undefined
}

type Result<T> = { value: T } | { error: unknown }

/** Runs the attempts. Throws the error of the last one. */
export async function runAttempts<T>(policy: AttemptPolicy, attempts: Attempts<T>): Promise<T> {
  let failure: ConvohouseError | undefined
  for (let attempt = 1; ; attempt++) {
    if (failure && !(await waitForRetry(policy, attempts.signal, attempt - 1, failure)))
      throw attempts.unsent(attempt, 'stopped')
    const result = await policy.slots.run(() => attemptOnce(attempts, attempt, failure), attempts.signal)
    if (result === undefined) throw attempts.unsent(attempt, 'stopped')
    if ('value' in result) return result.value
    if (attempt >= policy.maxAttempts || !isRetryable(result.error)) throw result.error
    failure = result.error
  }
}

async function attemptOnce<T>(
  { send, read, unsent, observer }: Attempts<T>,
  attempt: number,
  failure: ConvohouseError | undefined,
): Promise<Result<T>> {
  if (observer && !(await observer.allow(attempt))) throw failure ?? unsent(attempt, 'not-allowed')
  const sent = await send()
  const result = settle(() => read(sent, attempt))
  await observer?.outcome({
    attempt,
    sentAtMs: sent.sentAtMs,
    receivedAtMs: sent.receivedAtMs,
    status: sent.exchange?.status ?? null,
    unsent: sent.exchange === null && sent.breakdown.unsent === true,
    error: 'error' in result ? codeOf(result.error) : null,
    retryAfterMs: sent.exchange?.retryAfterMs ?? null,
  })
  return result
}

function settle<T>(read: () => T): Result<T> {
  try {
    return { value: read() }
  } catch (error) {
    return { error }
  }
}

const codeOf = (error: unknown): ErrorCode => (error instanceof ConvohouseError ? error.code : 'API_PROTOCOL')

/** 429 is not among them: when to come back is for whoever keeps the budget to say. */
function isRetryable(error: unknown): error is ConvohouseError {
  if (!isCode(error, 'API_UNAVAILABLE', 'API_TIMEOUT', 'API_NOT_JSON')) return false
  return retryAfterOf(error) <= LONGEST_RETRY_AFTER_MS
}

const retryAfterOf = ({ facts }: ConvohouseError): number => Number(facts.retryAfterMs ?? 0)

/** False where the signal ended the wait. */
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
