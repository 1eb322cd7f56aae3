// Bounds the queries that one caller runs at the same time, so that answers which it does not read leave slots to others.
import { openQueryQueue, type QueryQueue, type QueueLimits } from '../../warehouse/query/concurrency.ts'

/** Returns `acquire` of the caller's own queue. */
export function openCallerQueues(limits: QueueLimits) {
  const queues = new Map<string, { queue: QueryQueue; users: number }>()
  return async (caller: string, waitMs: number, signal: AbortSignal): Promise<() => void> => {
    const own = queues.get(caller) ?? { queue: openQueryQueue(limits), users: 0 }
    queues.set(caller, own)
    own.users += 1
    const leave = () => {
      own.users -= 1
      if (own.users === 0) queues.delete(caller)
    }
    const release = await own.queue.acquire(waitMs, signal).catch(error => {
      leave()
      throw error
    })
    return () => {
      release()
      leave()
    }
  }
}
