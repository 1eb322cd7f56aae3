// The client side of the workflow that owns a workspace's quota: the first request starts it, later ones join it.
import { type Client, WithStartWorkflowOperation, type WorkflowHandle } from '@temporalio/client'
import { warehouseQueue } from '../../../../workflows/activities.ts'
import type { AcceptedRequest } from '../../../../workflows/requests.ts'
import type { SyncReport, SyncRequest } from '../../../../workflows/steps.ts'
import type { SyncInput } from '../../../../workflows/temporal/owner.ts'

/** Returns the workflow id, one per workspace, so that two owners never spend one quota. */
export const ownerId = (workspaceId: string): string => `sync/${workspaceId}`

type OwnerWorkflow = (input: SyncInput) => Promise<SyncReport | null>
export type OwnerHandle = WorkflowHandle<OwnerWorkflow>

/** Requests a sync, and starts the owner workflow if it is not running. Resolves when a worker has accepted the request. */
export async function askForSync(
  client: Client,
  options: { queues: string; request: Omit<SyncRequest, 'run'> },
): Promise<AcceptedRequest & { handle: OwnerHandle }> {
  const { queues, request } = options
  const { workspaceId } = request
  const start = new WithStartWorkflowOperation<OwnerWorkflow>('syncWorkspace', {
    workflowId: ownerId(workspaceId),
    taskQueue: warehouseQueue(queues),
    workflowIdConflictPolicy: 'USE_EXISTING',
    args: [{ workspaceId }],
  })
  const asked = await client.workflow.executeUpdateWithStart<
    OwnerWorkflow,
    AcceptedRequest,
    [Omit<SyncRequest, 'run'>]
  >('requestSync', {
    startWorkflowOperation: start,
    args: [request],
  })
  return { ...asked, handle: await start.workflowHandle() }
}
