// Draining under Temporal: the activity, which goes on for minutes, and the workflow that asks for it again and again.
import type { Client } from '@temporalio/client'
import { type DrainResult, warehouseQueue } from '../../../../workflows/activities.ts'
import { type DrainFailing, ingest } from '../../../../workflows/ingest.ts'
import type { IngestInput } from '../../../../workflows/temporal/ingest.ts'
import { spoolOf } from '../../../app/spool.ts'
import type { App } from '../../../app.ts'
import { systemClock } from '../../../clock.ts'
import type { Config } from '../../../config.ts'
import { MINUTE } from '../../../core/time.ts'

/** One a workspace. */
export const ingestId = (workspaceId: string): string => `ingest/${workspaceId}`

/** Few enough of them that a history is small, and often enough to be looked at. */
const DRAIN_FOR_MS = 5 * MINUTE

type IngestWorkflow = (input: IngestInput) => Promise<number>

const withWebhooks = ({ workspaces }: Config) =>
  workspaces.filter(({ readWebhookSecrets }) => readWebhookSecrets !== null)

/** Starts the workflows of all workspaces that have webhooks, where they do not run. */
export async function startIngesting(client: Client, config: Config): Promise<void> {
  for (const { id: workspaceId } of withWebhooks(config))
    await client.workflow.start<IngestWorkflow>('ingestSpool', {
      workflowId: ingestId(workspaceId),
      taskQueue: warehouseQueue(config.temporal.queues),
      workflowIdConflictPolicy: 'USE_EXISTING',
      args: [{ workspaceId }],
    })
}

/** Tasks that are taken for as long as a worker lives. */
export const ingestingTasks = (config: Config): number => withWebhooks(config).length

/** Drains as events come, for some minutes or until the worker ends. What fails is tried again: no failure of it ends the workflow. */
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
      told: applied => {
        events += applied
      },
    },
  )
  return { events, over }
}
