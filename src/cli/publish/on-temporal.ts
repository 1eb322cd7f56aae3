// `convohouse publish` while a Temporal worker holds the warehouse: the worker publishes, and this command waits for it.
import { warehouseQueue } from '../../../workflows/activities.ts'
import type { TargetConfig } from '../../config/targets.ts'
import type { Config } from '../../config.ts'
import { ConvohouseError, isCode } from '../../core/errors.ts'
import type { PublicationReport } from '../../core/publication-report.ts'
import { hasPollers } from '../../run/temporal/client/await-worker.ts'
import { abortable, connectClient, isTemporalConfigured, storedPlace } from '../../run/temporal/client/connection.ts'
import { askForPublication } from '../../run/temporal/client/publication.ts'

/** Publishes to one target. */
export interface Publisher {
  publish(target: TargetConfig): Promise<PublicationReport>
  close(): Promise<void>
}

const held = ({ message, facts, cause }: ConvohouseError): ConvohouseError =>
  new ConvohouseError('WAREHOUSE_LOCKED', {
    what: message,
    hint: 'That process publishes what changes (`convohouse status` shows when), unless it is a single `sync`, `query` or `publish`: then try again later. Stop it for --verify and --refill. A Temporal worker publishes at once if its server can be reached (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE).',
    facts,
    cause,
  })

const unknownToWorker = (target: string): ConvohouseError =>
  new ConvohouseError('TARGET_UNKNOWN', {
    what: `The worker that holds the warehouse has no target ${JSON.stringify(target)}.`,
    hint: 'Restart it: it has read an earlier configuration.',
  })

/**
 * Returns a publisher that asks the worker. @throws `locked`, with another hint, if no server is known or no worker
 * runs
 */
export async function publisherOnTemporal(
  { home, temporal: { queues } }: Config,
  {
    locked,
    request,
    signal,
  }: { locked: ConvohouseError; request: { refill: boolean; verify: boolean }; signal: AbortSignal },
): Promise<Publisher> {
  const place = isTemporalConfigured() ? {} : await storedPlace(home)
  if (place === null) throw held(locked)
  const client = await connectClient(place).catch(error => {
    throw isCode(error, 'TEMPORAL_UNREACHABLE') ? held(locked) : error
  })
  const close = () => client.connection.close()
  if ((await hasPollers(client, warehouseQueue(queues))) === false) {
    await close()
    throw held(locked)
  }
  return {
    async publish({ name: target }) {
      const asked = { queues, target, request: { ...request, isAttended: true } }
      const done = await abortable(client, signal, () => askForPublication(client, asked)).catch(error => {
        if (!signal.aborted) throw error
        throw new ConvohouseError('INTERRUPTED', {
          what: `Detached: the worker goes on publishing to ${target}.`,
          cause: error,
        })
      })
      if (done === null) throw unknownToWorker(target)
      return done
    },
    close,
  }
}
