// Calls of a client that end with a signal.
import { setMaxListeners } from 'node:events'
import type { Client } from '@temporalio/client'

/** What the client asks for within `work` is given up at the signal. (The SDK never forgets the calls of a signal: so each has its own.) */
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
