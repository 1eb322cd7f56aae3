// The resources of one workspace that the composition root opens for the steps.
import type { Finishing } from '../../workflows/host.ts'
import type { VendorClient } from '../client/client.ts'
import type { WorkspaceConfig } from '../config.ts'
import type { Landing } from '../landing/landing.ts'
import type { LeaseLog } from '../landing/lease-log.ts'
import type { Warehouse } from '../warehouse/open.ts'

export interface StepsDependencies {
  workspaceId: string
  vendor: VendorClient
  landing: Landing
  leaseLog: Pick<LeaseLog, 'append' | 'recent' | 'merge'>
  warehouse: Warehouse
  settings: WorkspaceSettings
  /** The process that runs leases, `HOST/PID/ID`, if its command also holds the warehouse: nobody waits for it once it is dead. */
  holder?: string
  now: () => number
  /** Aborts requests in flight. */
  signal: AbortSignal
  /** Once it is aborted, requests in flight are finished and no more are sent. */
  stopping?: AbortSignal
  /** Returns false if the workflow has given up the lease. Called once the lease is in the log, before its first request. */
  isHeld?: () => Promise<boolean>
  /** Called for each landed page, for a live display. */
  onPage?: (page: { agentId: string; records: number; billed: number | null }) => void
  /** Called when the last step of a sync begins another work, for a live display. */
  onFinishing?: (finishing: Finishing) => void
}

/** Fetching under a lease needs no warehouse. */
export type FetchDependencies = Omit<StepsDependencies, 'warehouse'>

/** Ids by the preceding id in a path: metrics by agent, pages by crawler job. */
export type IdsByOwner = Readonly<Record<string, readonly string[]>>

/** Settings about the configuration itself and its secrets, which the steps do not need. */
type Unread =
  | 'id'
  | 'apiUrl'
  | 'tokenKept'
  | 'webhookSecretFiles'
  | `read${string}`
  | 'since'
  | 'schedule'
  | 'timeoutMs'

/** Settings that may be omitted: no business hours, everything is kept forever, the governor's leases. */
interface Omittable extends Partial<Pick<WorkspaceConfig, 'responseRules' | 'retention'>> {
  /** Lifetime of a lease. */
  leaseMs?: number
}

type WorkspaceSettings = Omit<WorkspaceConfig, Unread | keyof Omittable> & Omittable

export interface CircuitBreaker {
  /** Counts the trips. A lease may send requests only while the count has not changed since the lease began. */
  trips(): number
  trip(): void
}

export function newCircuitBreaker(): CircuitBreaker {
  let trips = 0
  return {
    trips: () => trips,
    trip() {
      trips += 1
    },
  }
}
