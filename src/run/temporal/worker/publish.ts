// Publications on Temporal: contains the activity, and starts the workflow of each target that is due.
import type { Client } from '@temporalio/client'
import type { WarehouseActivities } from '../../../../workflows/activities.ts'
import type { App } from '../../../app.ts'
import type { Config } from '../../../config.ts'
import type { ConvohouseError } from '../../../core/errors.ts'
import type { PublicationReport } from '../../../core/publication-report.ts'
import { type PublicationPhase, publish } from '../../../publish/publish.ts'
import { newsOf, type PublicationNews, type RunningPublishing, startPublishing } from '../../publishing.ts'
import { abortable } from '../client/connection.ts'
import { startPublication } from '../client/publication.ts'
import { asPublicationFailure } from '../failure.ts'

/** Progress that the heartbeats of a publication show. */
export interface PublicationProgress {
  /** `waiting`: another publication to a target is running. */
  phase: PublicationPhase | 'waiting'
  /** Number of rows in the package. */
  rows?: number
}

type PublishTo = (
  input: Parameters<WarehouseActivities['publish']>[0],
  call: { stopping: AbortSignal; progress(now: PublicationProgress): void },
) => Promise<PublicationReport | null>

/** Returns the activity, one publication at a time. */
export function publishingActivity(options: { config: Config; app: App; failing: PublicationNews }): PublishTo {
  const { config, app, failing } = options
  const news = newsOf(failing)
  let queue: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = queue.then(work)
    queue = turn.catch(() => {})
    return turn
  }
  return async ({ target: name, refill, verify, isAttended }, { stopping, progress }) => {
    const target = config.targets.find(one => one.name === name)
    if (!target) return null
    const { threads, extensions, models, workspaces } = config
    const settings = { ...config.publish, threads, extensions, models, workspaces }
    const onPhase = (phase: PublicationPhase, facts: { rows?: number }) => progress({ phase, ...facts })
    progress({ phase: 'waiting' })
    try {
      const { warehouse } = app
      const asked = { warehouse, home: config.home, target, settings, refill, verify, signal: stopping, onPhase }
      const report = await inTurn(() => publish(asked))
      news.succeeded(name)
      return report
    } catch (error) {
      if (!stopping.aborted) news.failed(name, error)
      throw asPublicationFailure(error as ConvohouseError, { isAttended })
    }
  }
}

/** Starts the workflows of targets that are due. */
export function startPublications(
  client: Client,
  options: { config: Config; app: App; log: (line: string) => void },
): RunningPublishing {
  const { config, app, log } = options
  return startPublishing({
    config,
    app,
    publishTo: ({ name }, signal) =>
      abortable(client, signal, () => startPublication(client, config.temporal.queues, name)),
    failing: (target, error) =>
      log(
        error === null
          ? `The workflow that publishes to ${target} can be started again.`
          : `The workflow that publishes to ${target} cannot be started: ${(error as Error).message}`,
      ),
  })
}

/** Returns the number of activity slots that publications may occupy, besides those of other tasks. */
export const publishingTasks = ({ targets }: Config): number => targets.length
