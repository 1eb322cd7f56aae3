// Limits concurrent queries: a few run, some more wait in order of arrival, the rest are refused.
//
// All queries of a process share libuv's thread pool (16 threads: `cli/convohouse.cts`) with files, DNS, zlib and every other call of
// DuckDB. A query occupies a thread while it runs: with four slow queries in a pool of four nothing else proceeded, not even fsync.

import { ConvohouseError } from '../../core/errors.ts'
import { Slots } from '../../core/slots.ts'
import { formatDuration } from '../../core/time.ts'
import { counted } from '../../core/words.ts'

export interface QueueLimits {
  /** Number of running queries. */
  running: number
  /** Number of queries that wait for a slot. */
  waiting: number
  /** Who runs them, for errors. */
  by?: string
}

export interface QueryQueue {
  /**
   * Resolves with the function that releases the slot, once one is free. The caller calls it once.
   *
   * @throws TOO_MANY_QUERIES if the queue is full or the query has waited `waitMs`; INTERRUPTED if the signal aborts
   */
  acquire(waitMs: number, signal: AbortSignal): Promise<() => void>
}

export function openQueryQueue({
  running,
  waiting,
  by = 'The process that holds the warehouse',
}: QueueLimits): QueryQueue {
  const slots = new Slots(running)
  const tooMany = (what: string) =>
    new ConvohouseError('TOO_MANY_QUERIES', {
      what: `${by} runs ${counted(running, 'query', 'queries')} at a time, and ${what}`,
      hint: 'Try again later, or stop some of the running queries.',
      facts: { running, waiting: slots.waiting },
    })
  return {
    async acquire(waitMs, signal) {
      if (slots.isFull && slots.waiting >= waiting) throw tooMany(`${slots.waiting} more are waiting.`)
      const limit = slots.isFull ? AbortSignal.any([signal, AbortSignal.timeout(Math.ceil(waitMs))]) : signal
      if (await slots.enter(limit)) return () => slots.leave()
      if (signal.aborted) throw new ConvohouseError('INTERRUPTED', { what: 'The query was stopped.' })
      throw tooMany(`this one has waited ${formatDuration(waitMs)} for a slot.`)
    },
  }
}
