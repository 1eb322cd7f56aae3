// What a workflow asks of the workers, as types only: the steps, by the queue that they are asked on. Inputs and results are
// references and counts: they stay in the history for as long as the server keeps it.
import type { HeldLease } from './lost-lease.ts'
import type { AcceptedRequest } from './requests.ts'
import type { Prepared, RunRef, Steps, SyncRequest } from './steps.ts'

/** Leases; any worker that has the landing. */
export interface ExportActivities extends Pick<Steps, 'fetchPages' | 'probe'> {
  /** What a lease brought whose holder was lost, and that can ask for nothing any more. */
  recoverLease: Steps['fetchPages']
}

/** What only the holder of the warehouse can do. */
export interface WarehouseActivities {
  /** Until when leases that nobody knows of any more, or that one, may still be used, ms; null: nobody may use them. */
  heldUntil(input: { workspaceId: string; lease?: HeldLease }): Promise<number | null>
  prepare(request: SyncRequest): Promise<Prepared & { timeoutMs: number }>
  /** Asks the workspace's owner for a plain sync, as the configuration says; it is started where none runs. */
  ask(input: { workspaceId: string }): Promise<AcceptedRequest>
  load(input: RunRef): ReturnType<Steps['load']>
  /** Drains the workspace's spool for some minutes, as events come. */
  drain(input: { workspaceId: string }): Promise<DrainResult>
  finish: Steps['finish']
}

export interface DrainResult {
  /** Events that were applied meanwhile. */
  events: number
  /** The configuration names no webhooks of that workspace any more, and nothing waits. */
  over: boolean
}

/** Two queues a house: `<house>-export` and `<house>-warehouse`, which also runs the workflows. */
export const exportQueue = (app: string): string => `${app}-export`
export const warehouseQueue = (app: string): string => `${app}-warehouse`

/** The export queue of the house whose workflows run on that queue. */
export const exportQueueBeside = (queue: string): string => queue.replace(/-warehouse$/, '-export')

/** A worker of which nothing is heard for so long is thought dead. */
export const HEARTBEAT_MS = 10_000
