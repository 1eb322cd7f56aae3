// The activities, as types: the steps, grouped by the task queue that serves them. Inputs and results are references and counts: they
// stay in the history for as long as the server keeps it.
import type { HeldLease } from './lost-lease.ts'
import type { AcceptedRequest } from './requests.ts'
import type { Prepared, RunRef, Steps, SyncRequest } from './steps.ts'

/** Served by any worker that has the landing. */
export interface ExportActivities extends Pick<Steps, 'fetchPages' | 'probe'> {
  /** What a lease brought whose holder was lost and can make no more requests. */
  recoverLease: Steps['fetchPages']
}

/** Served by the worker that holds the warehouse. */
export interface WarehouseActivities {
  /** Until when that lease, or any lease without a known holder, may still be used, ms; null: not any more. */
  heldUntil(input: { workspaceId: string; lease?: HeldLease }): Promise<number | null>
  prepare(request: SyncRequest): Promise<Prepared & { timeoutMs: number }>
  /** Asks the workspace's owner for the configured sync; starts the owner where none runs. */
  requestSync(input: { workspaceId: string }): Promise<AcceptedRequest>
  load(input: RunRef): ReturnType<Steps['load']>
  /** Drains the workspace's spool for some minutes. */
  drain(input: { workspaceId: string }): Promise<DrainResult>
  finish: Steps['finish']
}

export interface DrainResult {
  /** Events that were applied. */
  events: number
  /** The configuration names no webhooks of that workspace any more, and no event is waiting. */
  over: boolean
}

/** Two queues per app: `<app>-export` and `<app>-warehouse`, which also runs the workflows. */
export const exportQueue = (app: string): string => `${app}-export`
export const warehouseQueue = (app: string): string => `${app}-warehouse`

/** The export queue of the app whose workflows run on that queue. */
export const exportQueueBeside = (queue: string): string => queue.replace(/-warehouse$/, '-export')

/** An activity without a heartbeat for this long is given up. */
export const HEARTBEAT_MS = 10_000
