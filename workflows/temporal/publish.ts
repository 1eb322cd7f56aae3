// The workflow that publishes to one target, `publish/<target>`. The worker starts it when changes are due (`publish.every`),
// and it ends when they are published. Its activity is retried until then, so the history does not grow while a target fails,
// and Temporal shows the attempt and the last error. A person's request is executed at once, and its failure is the answer.
import {
  ActivityCancellationType,
  allHandlersFinished,
  CancellationScope,
  condition,
  defineUpdate,
  proxyActivities,
  setCurrentDetails,
  setHandler,
} from '@temporalio/workflow'
import type { PublicationReport } from '../../src/core/publication-report.ts'
import { HEARTBEAT_MS, type PublicationRequest, type WarehouseActivities } from '../activities.ts'

/** Input of the workflow. */
export interface PublishInput {
  target: string
  /** False if it was started for an update, which requests the publication. */
  isDue: boolean
}

/** A publication takes at most ten minutes, but may wait for those to other targets. */
const LONGEST = '2 hours'

const { publish } = proxyActivities<Pick<WarehouseActivities, 'publish'>>({
  startToCloseTimeout: LONGEST,
  heartbeatTimeout: HEARTBEAT_MS,
  retry: { initialInterval: '5 seconds', maximumInterval: '10 minutes' },
  // A new request interrupts a publication that waits for its next attempt, not one that runs.
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
})

const publishUpdate = defineUpdate<PublicationReport | null, [PublicationRequest]>('publish')

interface Waiting {
  request: PublicationRequest
  /** Takes the answer; omitted if nobody waits for it. */
  answer?: { resolve(done: PublicationReport | null): void; reject(error: unknown): void }
}

const DUE: Waiting = { request: { refill: false, verify: false, isAttended: false } }

/** Publishes until nothing is requested any more. Returns the last publication; null if the target is no longer configured. */
export async function publishTarget({ target, isDue }: PublishInput): Promise<PublicationReport | null> {
  const waiting: Waiting[] = isDue ? [DUE] : []
  let unattended: CancellationScope | null = null
  setHandler(
    publishUpdate,
    request =>
      new Promise((resolve, reject) => {
        waiting.push({ request, answer: { resolve, reject } })
        unattended?.cancel()
      }),
  )
  setCurrentDetails(`**publishing** to ${target}`)
  let last: PublicationReport | null = null
  await condition(() => waiting.length > 0)
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { request, answer } = next
    const scope = new CancellationScope()
    unattended = answer ? null : scope
    try {
      last = await scope.run(() => publish({ target, ...request }))
      answer?.resolve(last)
    } catch (error) {
      answer?.reject(error)
      if (CancellationScope.current().consideredCancelled) {
        for (const { answer: other } of waiting) other?.reject(error)
        throw error
      }
      // A publication that failed for a person is retried without one.
      if (waiting.length === 0) waiting.push(DUE)
    }
  }
  await condition(allHandlersFinished)
  return last
}
