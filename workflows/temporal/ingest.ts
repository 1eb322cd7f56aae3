// The workflow that drains a workspace's spool, `ingest/<workspace>`: one long activity after the other while the
// workspace has webhooks. The warehouse records what was drained; the workflow only counts.
import { continueAsNew, defineQuery, setCurrentDetails, setHandler, workflowInfo } from '@temporalio/workflow'
import { warehouse } from './activity-calls.ts'

export interface IngestInput {
  workspaceId: string
  /** Number of events that earlier runs of this workflow have counted. */
  applied?: number
}

const appliedQuery = defineQuery<number>('applied')

export async function ingestSpool({ workspaceId, applied = 0 }: IngestInput): Promise<number> {
  let events = applied
  setHandler(appliedQuery, () => events)
  for (;;) {
    setCurrentDetails(`**draining**: ${events} webhook events applied`)
    const drained = await warehouse.drain({ workspaceId })
    events += drained.events
    if (drained.over) return events
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof ingestSpool>({ workspaceId, applied: events })
  }
}
