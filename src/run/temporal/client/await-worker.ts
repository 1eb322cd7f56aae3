// Waits for an answer that only a worker can give. The server queues updates and queries until a worker polls; the
// functions here tell the caller when no worker does.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, ServiceError } from '@temporalio/client'
import { SECOND } from '../../../core/time.ts'

/** `TASK_QUEUE_TYPE_WORKFLOW` of Temporal's API. */
const WORKFLOW_TASKS = 1
/** The server lists a poller for five minutes after its last poll; a live one polls every minute. */
export const POLLS_WITHIN_MS = 90 * SECOND

/** Delay before pollers are looked up; a running worker usually answers sooner. */
const LOOK_AFTER_MS = SECOND / 2
/** Delay after which a worker that polls but has not answered is reported: even a busy one would have answered. */
const LATE_AFTER_MS = 5 * SECOND

/** gRPC codes of unanswered queries: CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED (full buffer), FAILED_PRECONDITION (no poller). */
const UNANSWERED: readonly unknown[] = [1, 4, 8, 9]

/** `none`: no worker polls; `silent`: a worker polled within the last 90 seconds, but does not answer. */
export type Absence = 'none' | 'silent'

interface WorkerWait {
  client: Client
  /** The workflow's task queue. */
  queue: string
  /** Called once per wait if no worker has answered in time. */
  unanswered(absence: Absence): void
}

/** Returns the identities of workers that polled for workflow tasks within the last 90 seconds; null if the server refuses. */
export async function pollersOf(
  { workflowService, options }: Pick<Client, 'workflowService' | 'options'>,
  queue: string,
): Promise<string[] | null> {
  try {
    const { pollers } = await workflowService.describeTaskQueue({
      namespace: options.namespace,
      taskQueue: { name: queue },
      taskQueueType: WORKFLOW_TASKS,
    })
    const sinceSeconds = (Date.now() - POLLS_WITHIN_MS) / SECOND
    const recent = pollers.filter(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) >= sinceSeconds)
    return recent.map(({ identity }) => identity ?? '')
  } catch {
    // For example, the API key has no permission to describe task queues.
    return null
  }
}

/** True if a worker polls the queue; null if the server refuses to say. */
export const hasPollers = async (client: Client, queue: string): Promise<boolean | null> =>
  pollersOf(client, queue).then(pollers => pollers && pollers.length > 0)

/** True if a query failed because no worker answered it. */
export function failedForWantOfWorker(error: unknown): boolean {
  const cause = error instanceof ServiceError ? (error.cause as { code?: unknown } | undefined) : undefined
  return UNANSWERED.includes(cause?.code)
}

/** Runs `work`, a call to the server that only a worker can answer. */
export type WorkerCall = <T>(work: () => Promise<T>) => Promise<T>

async function watch({ client, queue, unanswered }: WorkerWait, over: AbortSignal): Promise<void> {
  await sleep(LOOK_AFTER_MS, undefined, { signal: over, ref: false })
  const polled = await hasPollers(client, queue)
  if (polled !== false) await sleep(LATE_AFTER_MS - LOOK_AFTER_MS, undefined, { signal: over, ref: false })
  if (!over.aborted) unanswered(polled === false ? 'none' : 'silent')
}

/** Calls `unanswered` when a call waits for a worker. Retries of a call that failed for lack of a worker belong to the same wait. */
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
