// Waiting for an answer that only a worker can give. The server queues updates and queries until a worker polls; here the caller
// learns when none does.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, ServiceError } from '@temporalio/client'
import { SECOND } from '../../../core/time.ts'

/** `TASK_QUEUE_TYPE_WORKFLOW` */
const WORKFLOW_TASKS = 1
/** The server lists a poller for five minutes after its last poll; a live one polls every minute. */
const POLLS_WITHIN_MS = 90 * SECOND

/** A running worker usually answers sooner. */
const LOOK_AFTER_MS = SECOND / 2
/** By then even a busy worker would have answered. */
const LATE_AFTER_MS = 5 * SECOND

/** gRPC codes: CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED (too many buffered queries), FAILED_PRECONDITION (no recent poller). */
const UNANSWERED: readonly unknown[] = [1, 4, 8, 9]

/** `none`: no worker polls; `silent`: one polled within 90 seconds and does not answer. */
export type Absence = 'none' | 'silent'

interface WorkerWait {
  client: Client
  /** The workflow's task queue. */
  queue: string
  /** Called once per wait, until a worker has answered. */
  unanswered(absence: Absence): void
}

/** Whether a worker polls the queue; null where the server refuses to say. */
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
    // An API key without permission to describe task queues.
    return null
  }
}

/** True where a query failed because no worker answered it. */
export function failedForWantOfWorker(error: unknown): boolean {
  const cause = error instanceof ServiceError ? (error.cause as { code?: unknown } | undefined) : undefined
  return UNANSWERED.includes(cause?.code)
}

/** Runs `work`, a call that a worker answers. */
export type WorkerCall = <T>(work: () => Promise<T>) => Promise<T>

async function watch({ client, queue, unanswered }: WorkerWait, over: AbortSignal): Promise<void> {
  await sleep(LOOK_AFTER_MS, undefined, { signal: over, ref: false })
  const polled = await hasPollers(client, queue)
  if (polled !== false) await sleep(LATE_AFTER_MS - LOOK_AFTER_MS, undefined, { signal: over, ref: false })
  if (!over.aborted) unanswered(polled === false ? 'none' : 'silent')
}

/** Reports `unanswered` when a call waits for a worker; one wait spans the retries of a call that failed for want of one. */
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
