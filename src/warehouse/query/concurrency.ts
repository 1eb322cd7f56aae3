// Limits concurrent queries: a few run, some more wait in order of arrival, the rest are refused.
//
// All queries of a process share libuv's thread pool (16 threads: `cli/convohouse.cts`) with files, DNS, zlib and every other call of
// DuckDB. A query occupies a thread while it runs: with four slow queries in a pool of four nothing else proceeded, not even fsync.

import { ConvohouseError } from '../../core/errors.ts'
import { formatDuration } from '../../core/time.ts'

interface QueueLimits {
  /** Number of running queries. */
  running: number
  /** Number of queries that wait for a slot. */
  waiting: number
}

export interface QueryQueue {
  /**
   * Resolves with the function that releases the slot, once one is free. The caller calls it once.
   *
   * @throws TOO_MANY_QUERIES if the queue is full or the query has waited `waitMs`; INTERRUPTED if the signal aborts
   */
  acquire(waitMs: number, signal: AbortSignal): Promise<() => void>
}

export function openQueryQueue(limits: QueueLimits): QueryQueue {
  let running = 0
  const waiting: (() => void)[] = []

  const tooMany = (what: string) =>
    new ConvohouseError('TOO_MANY_QUERIES', {
      what: `The process that holds the warehouse runs ${limits.running} queries at a time, and ${what}`,
      hint: 'Try again later, or stop some of the running queries.',
      facts: { running, waiting: waiting.length },
    })

  function occupy(): () => void {
    running += 1
    return () => {
      running -= 1
      waiting.shift()?.()
    }
  }

  function wait(waitMs: number, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const leave = (error: ConvohouseError) => {
        waiting.splice(waiting.indexOf(start), 1)
        settle()
        reject(error)
      }
      const onAbort = () => leave(new ConvohouseError('INTERRUPTED', { what: 'The query was stopped.' }))
      const onTimeout = () => leave(tooMany(`this one has waited ${formatDuration(waitMs)} for a slot.`))
      const timer = setTimeout(onTimeout, waitMs)
      const settle = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
      }
      const start = () => {
        settle()
        resolve(occupy())
      }
      signal.addEventListener('abort', onAbort, { once: true })
      waiting.push(start)
      if (signal.aborted) onAbort()
    })
  }

  return {
    async acquire(waitMs, signal) {
      if (running < limits.running) return occupy()
      if (waiting.length >= limits.waiting) throw tooMany(`${waiting.length} more are waiting.`)
      return wait(waitMs, signal)
    },
  }
}
