// The resources of one workspace that the composition root opens for the steps.
import type { VendorClient } from '../client/client.ts'
import type { RefreshOn } from '../core/planning/refresh-rule.ts'
import type { ResponseRules } from '../core/response-rules.ts'
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
}

/** Fetching under a lease needs no warehouse. */
export type FetchDependencies = Omit<StepsDependencies, 'warehouse'>

/** Ids by the preceding id in a path: metrics by agent, pages by crawler job. */
export type IdsByOwner = Readonly<Record<string, readonly string[]>>

interface WorkspaceSettings {
  /** Configured organizations, fetched besides those that the tables reference. */
  organizations: readonly string[]
  /** Configured custom metrics by agent, fetched besides those of conversations. */
  customMetrics: IdsByOwner
  /** Configured pages of crawler jobs. */
  crawlerPages: IdsByOwner
  /** True to keep the Markdown and HTML of these pages. */
  keepsCrawlerBodies: boolean
  /** Streams of the resources that a sync requests by id. */
  resources: readonly string[]
  timeZone: string
  /** Business hours and service levels; none if omitted. */
  responseRules?: ResponseRules
  settleMs: number
  mirrorLagMs: number
  requestsPerHour: number
  hourMs: number
  hourReserveShare: number
  /** Share of the period's quota reserved for new conversations; null reserves as many sessions as they are expected to need. */
  headReserveShare: number | null
  maxPage: number
  /** Lifetime of a lease; default: the governor's. */
  leaseMs?: number
  /** Minimum age of the last read before a conversation or a range is exported again. */
  quietMs: number
  /** Changes that cause a refresh. */
  refreshOn: RefreshOn
  /** Maximum age of ranges that are read again because they may hide conversations. */
  rereadHorizonMs: number
  /** Shares of the period's sessions that re-reads and samples may take; 0 for none. */
  rereadShare: number
  sampleShare: number
  /** Maximum age of pages and of event payloads; omitted to keep them forever. */
  retention?: { pagesMs: number | null; eventsMs: number | null }
}

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
