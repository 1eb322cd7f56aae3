// The client side of the workflow that publishes to a target: starts it when changes are due, and asks for a publication at once.
import { type Client, WithStartWorkflowOperation } from '@temporalio/client'
import { type PublicationRequest, warehouseQueue } from '../../../../workflows/activities.ts'
import type { PublishInput } from '../../../../workflows/temporal/publish.ts'
import type { PublicationReport } from '../../../core/publication-report.ts'
import { errorOf, failureIn } from '../failure.ts'

/** The default of `temporal.queues`. */
const DEFAULT_QUEUES = 'convohouse'

/** Returns the workflow id, one per target. Queues tell data folders in a namespace apart, since target names may repeat. */
export const publicationId = (queues: string, target: string): string =>
  queues === DEFAULT_QUEUES ? `publish/${target}` : `publish/${queues}/${target}`

type PublishWorkflow = (input: PublishInput) => Promise<PublicationReport | null>

const startOf = (queues: string, input: PublishInput) => ({
  workflowId: publicationId(queues, input.target),
  taskQueue: warehouseQueue(queues),
  workflowIdConflictPolicy: 'USE_EXISTING' as const,
  args: [input] as [PublishInput],
})

/** Starts the workflow of a target with changes to publish, unless it is running. */
export async function startPublication(client: Client, queues: string, target: string): Promise<void> {
  await client.workflow.start<PublishWorkflow>('publishTarget', startOf(queues, { target, isDue: true }))
}

/** Publishes to a target and waits for the result; null if the worker lacks the target. @throws the publication's error */
export async function askForPublication(
  client: Client,
  { queues, target, request }: { queues: string; target: string; request: PublicationRequest },
): Promise<PublicationReport | null> {
  const start = startOf(queues, { target, isDue: false })
  const startWorkflowOperation = new WithStartWorkflowOperation<PublishWorkflow>('publishTarget', start)
  try {
    return await client.workflow.executeUpdateWithStart<
      PublishWorkflow,
      PublicationReport | null,
      [PublicationRequest]
    >('publish', { startWorkflowOperation, args: [request] })
  } catch (error) {
    const failure = failureIn(error)
    throw failure ? errorOf(failure) : error
  }
}
