// Drains the spools on Temporal: contains the activity, which runs for minutes, and starts the workflow that repeats it.
import type { Client } from '@temporalio/client'
import { type DrainResult, warehouseQueue } from '../../../../workflows/activities.ts'
import { type DrainFailing, ingest } from '../../../../workflows/ingest.ts'
import type { IngestInput } from '../../../../workflows/temporal/ingest.ts'
import { spoolOf } from '../../../app/spool.ts'
import type { App } from '../../../app.ts'
import { systemClock } from '../../../clock.ts'
import type { Config } from '../../../config.ts'
import { MINUTE } from '../../../core/time.ts'

/** Returns the workflow id, one per workspace. */
export const ingestId = (workspaceId: string): string => `ingest/${workspaceId}`

/** Duration of one drain activity: long enough to keep the workflow's history small, short enough to notice a lost worker. */
const DRAIN_FOR_MS = 5 * MINUTE

type IngestWorkflow = (input: IngestInput) => Promise<number>

const withWebhooks = ({ workspaces }: Config) =>
  workspaces.filter(({ readWebhookSecrets }) => readWebhookSecrets !== null)

/** Starts the ingest workflow of each workspace that has webhooks, unless it is already running. */
export async function startIngesting(client: Client, config: Config): Promise<void> {
  for (const { id: workspaceId } of withWebhooks(config))
    await client.workflow.start<IngestWorkflow>('ingestSpool', {
      workflowId: ingestId(workspaceId),
      taskQueue: warehouseQueue(config.temporal.queues),
      workflowIdConflictPolicy: 'USE_EXISTING',
      args: [{ workspaceId }],
    })
}

/** Returns the number of activity slots that draining occupies permanently. */
export const ingestingTasks = (config: Config): number => withWebhooks(config).length

/** Drains events as they arrive, for five minutes or until the worker stops. Failures are retried here and never end the workflow. */
export async function drainForAWhile(options: {
  config: Config
  app: App
  workspaceId: string
  stopping: AbortSignal
  failing: (failure: DrainFailing) => void
}): Promise<DrainResult> {
  const { config, app, workspaceId, stopping, failing } = options
  const workspace = config.workspaces.find(({ id }) => id === workspaceId)
  if (!workspace) return { events: 0, over: true }
  const over = workspace.readWebhookSecrets === null
  const { now } = systemClock
  const untilMs = now() + DRAIN_FOR_MS
  let events = 0
  await ingest(
    spoolOf({ app, home: config.home, workspace, now }),
    {
      now,
      cancelled: () => over || stopping.aborted || now() >= untilMs,
      sleepUntil: until => systemClock.sleepUntil(until, stopping),
    },
    {
      workspaceId,
      failing,
      applied: count => {
        events += count
      },
    },
  )
  return { events, over }
}
