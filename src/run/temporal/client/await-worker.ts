// Waiting for what only a worker can answer: how long that takes depends on whether there is one. Temporal's server keeps what was said
// to a workflow, and waits with us; whether a worker polls, it knows as far as polls go.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, ServiceError } from '@temporalio/client'
import { SECOND } from '../../../core/time.ts'

/** Of Temporal's enumeration of task queues: the one that workflows' tasks wait in. */
const WORKFLOW_TASKS = 1
/** The server remembers a poller for five minutes; one that lives polls again each minute. */
const POLLS_WITHIN_MS = 90 * SECOND

/** A worker that is there answers sooner. */
const LOOK_AFTER_MS = SECOND / 2
/** By then one that has a lot to do would have answered. */
const LATE_AFTER_MS = 5 * SECOND

/** Of gRPC: given up or not answered in time, more is asked already than the server keeps, and nobody has polled lately. */
const UNANSWERED: readonly unknown[] = [1, 4, 8, 9]

/** `none`: the server knows of no worker; `silent`: one has polled lately, and may be gone. */
export type Absence = 'none' | 'silent'

export interface WorkerWait {
  client: Client
  /** Where the workflow's tasks wait. */
  queue: string
  /** Told once, until one has answered. */
  unanswered(absence: Absence): void
}

/** False where the server knows that nobody takes that queue's tasks; null where it does not tell. */
export async function hasPollers(client: Client, queue: string): Promise<boolean | null> {
  try {
    const { pollers } = await client.workflowService.describeTaskQueue({
      namespace: client.options.namespace,
      taskQueue: { name: queue },
      taskQueueType: WORKFLOW_TASKS,
    })
    const sinceSeconds = (Date.now() - POLLS_WITHIN_MS) / SECOND
    return pollers.some(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) >= sinceSeconds)
  } catch {
    // A key that may not look at queues.
    return null
  }
}

/** True where a query failed for want of a worker. */
export function failedForWantOfWorker(error: unknown): boolean {
  const cause = error instanceof ServiceError ? (error.cause as { code?: unknown } | undefined) : undefined
  return UNANSWERED.includes(cause?.code)
}

/** What a worker answers to `work`, however long that takes. */
export type WorkerCall = <T>(work: () => Promise<T>) => Promise<T>

async function watch({ client, queue, unanswered }: WorkerWait, over: AbortSignal): Promise<void> {
  await sleep(LOOK_AFTER_MS, undefined, { signal: over, ref: false })
  const polled = await hasPollers(client, queue)
  if (polled !== false) await sleep(LATE_AFTER_MS - LOOK_AFTER_MS, undefined, { signal: over, ref: false })
  if (!over.aborted) unanswered(polled === false ? 'none' : 'silent')
}

/** Waits, and tells of it where no worker answers: also one that is asked again because it had not. */
export function awaitWorker(waiting: WorkerWait): WorkerCall {
  let over: AbortController | null = null
  const end = () => {
    over?.abort()
    over = null
  }
  return async work => {
    if (over === null) {
      over = new AbortController()
      watch(waiting, over.signal).catch(() => {})
    }
    try {
      const answer = await work()
      end()
      return answer
    } catch (error) {
      if (!failedForWantOfWorker(error)) end()
      throw error
    }
  }
}
