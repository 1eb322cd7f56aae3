// Types of the activities: the steps, grouped by the task queue that serves them. Inputs and results are only
// references and counts, because they stay in the workflow's history as long as the server keeps it.
import type { PublicationReport } from '../src/core/publication-report.ts'
import type { HeldLease } from './lost-lease.ts'
import type { AcceptedRequest } from './requests.ts'
import type { PlannedFrom, Prepared, RunRef, Steps, SyncRequest } from './steps.ts'

/** Served by any worker that has the landing. */
export interface ExportActivities extends Pick<Steps, 'fetchPages' | 'probe'> {
  /** Recovers the outcome of a lease whose holder was lost and can make no more requests. */
  recoverLease: Steps['fetchPages']
}

/** Served by the worker that holds the warehouse. */
export interface WarehouseActivities {
  /** Returns until when `lease`, or any lease of a vanished workflow, may still be used, ms; null if none can. */
  heldUntil(input: { workspaceId: string; lease?: HeldLease } & PlannedFrom): Promise<number | null>
  prepare(request: SyncRequest & PlannedFrom): Promise<Prepared & { timeoutMs: number } & Required<PlannedFrom>>
  /** Requests the configured sync from the workspace's owner, which is started if it is not running. */
  requestSync(input: { workspaceId: string }): Promise<AcceptedRequest>
  load(input: RunRef): ReturnType<Steps['load']>
  /** Drains the workspace's spool for some minutes. */
  drain(input: { workspaceId: string }): Promise<DrainResult>
  finish: Steps['finish']
  /** Publishes to a target; null if the target is no longer configured. The failure of an attended publication is not retried. */
  publish(input: { target: string } & PublicationRequest): Promise<PublicationReport | null>
}

export interface PublicationRequest {
  /** Writes the target from empty. */
  refill: boolean
  /** Compares the target with the warehouse. */
  verify: boolean
  /** True if somebody waits for the result. */
  isAttended: boolean
}

export interface DrainResult {
  /** Number of applied events. */
  events: number
  /** True if the configuration no longer names webhooks for the workspace, and no event is waiting. */
  over: boolean
}

/** Two queues per app: `<app>-export` and `<app>-warehouse`, which also runs the workflows. */
export const exportQueue = (app: string): string => `${app}-export`
export const warehouseQueue = (app: string): string => `${app}-warehouse`

/** Returns the export queue of the app whose workflows run on this warehouse queue. */
export const exportQueueBeside = (queue: string): string => queue.replace(/-warehouse$/, '-export')

/** Maximum time without a heartbeat before an activity is given up. */
export const HEARTBEAT_MS = 10_000
