// Client calls that an AbortSignal cancels.
import { setMaxListeners } from 'node:events'
import type { Client } from '@temporalio/client'

/** Cancels the client calls made within `work` when `signal` aborts. The SDK keeps every call of a signal for the signal's lifetime, so each `work` gets its own. */
export async function abortable<T>(client: Client, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const own = new AbortController()
  setMaxListeners(0, own.signal)
  const abort = () => own.abort(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  try {
    return await client.withAbortSignal(own.signal, work)
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
