// Turns of queries: so many run at once, some more wait in the order in which they came, all others are refused at once.

import { ConvohouseError } from '../../core/errors.ts'
import { SECOND } from '../../core/time.ts'

export interface QueueLimits {
  /** Queries that run at once. */
  running: number
  /** Queries that wait for their turn. */
  waiting: number
}

export interface QueryQueue {
  /**
   * Resolves when it is this query's turn, with the function that ends the turn.
   *
   * @throws TOO_MANY_QUERIES where too many wait, or it has waited `waitMs`; INTERRUPTED where the signal is aborted
   */
  acquire(waitMs: number, signal: AbortSignal): Promise<() => void>
}

export function openQueryQueue({ running: most, waiting: mostWaiting }: QueueLimits): QueryQueue {
  let running = 0
  const waiting: (() => void)[] = []

  const tooMany = (what: string) =>
    new ConvohouseError('TOO_MANY_QUERIES', {
      what: `The process that holds the warehouse runs ${most} ${most === 1 ? 'query' : 'queries'} at a time, and ${what}`,
      hint: 'Ask again later, or stop some of the queries that run.',
      facts: { running, waiting: waiting.length },
    })

  /** Once only: a turn that is ended twice is one turn. */
  function begin(): () => void {
    running += 1
    let ended = false
    return () => {
      if (ended) return
      ended = true
      running -= 1
      waiting.shift()?.()
    }
  }

  function wait(waitMs: number, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const leave = (error: ConvohouseError) => {
        waiting.splice(waiting.indexOf(turn), 1)
        settle()
        reject(error)
      }
      const stopped = () => leave(new ConvohouseError('INTERRUPTED', { what: 'The query was stopped.' }))
      const late = () => leave(tooMany(`this one has waited ${waitMs / SECOND} s for its turn.`))
      const timer = setTimeout(late, waitMs)
      const settle = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', stopped)
      }
      const turn = () => {
        settle()
        resolve(begin())
      }
      signal.addEventListener('abort', stopped, { once: true })
      waiting.push(turn)
      if (signal.aborted) stopped()
    })
  }

  return {
    async acquire(waitMs, signal) {
      if (running < most) return begin()
      if (waiting.length >= mostWaiting) throw tooMany(`${waiting.length} more wait for their turn.`)
      return wait(waitMs, signal)
    },
  }
}
