// Workers announce their landing in the identity under which they poll, so that a worker with another data folder is refused before it polls.
import { hostname } from 'node:os'
import type { Client } from '@temporalio/client'
import { warehouseQueue } from '../../../../workflows/activities.ts'
import { landingDiffers } from '../../../app/workspace-context.ts'
import type { Config } from '../../../config.ts'
import { durationText } from '../../../core/time.ts'
import { POLLS_WITHIN_MS, pollersOf } from '../client/await-worker.ts'

const ANNOUNCED = / landing (\S+)$/

/** The identity of a worker of this process: `4711@host landing ID`. */
export const identityOf = (landingId: string): string => `${process.pid}@${hostname()} landing ${landingId}`

/**
 * Refuses a worker if another one holds the warehouse of another landing. If the server does not list pollers, this check is skipped:
 * leases and loads are then refused one by one. @throws LANDING_DIFFERS
 */
export async function expectOneLanding(
  client: Pick<Client, 'workflowService' | 'options'>,
  { home, temporal }: Config,
  landingId: string,
): Promise<void> {
  const queue = warehouseQueue(temporal.queues)
  const others = (await pollersOf(client, queue)) ?? []
  const other = others.find(identity => (ANNOUNCED.exec(identity)?.[1] ?? landingId) !== landingId)
  if (other === undefined) return
  const within = durationText(POLLS_WITHIN_MS)
  throw landingDiffers(home, landingId, `the worker ${other} polled ${queue} within the last ${within}`)
}
