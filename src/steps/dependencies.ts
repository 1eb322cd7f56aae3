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
  /** The process that runs leases, `HOST/PID/ID`, if its command also holds the warehouse: the next holder need not wait for a dead one. */
  holder?: string
  now: () => number
  /** Aborts requests in flight. */
  signal: AbortSignal
  /** Once it is aborted, requests in flight are finished and no more are sent. */
  stopping?: AbortSignal
  /** Returns false where the workflow has given the lease up. Called once the lease is in the log, before its first request. */
  isHeld?: () => Promise<boolean>
  /** Called for each landed page, for a live display. */
  onPage?: (page: { agentId: string; records: number; billed: number | null }) => void
}

/** Fetching under a lease needs no warehouse. */
export type FetchDependencies = Omit<StepsDependencies, 'warehouse'>

/** Ids by the id before them in a path: metrics by agent, pages by crawler job. */
export type IdsByOwner = Readonly<Record<string, readonly string[]>>

interface WorkspaceSettings {
  /** Configured organizations, fetched besides those that the tables reference. */
  organizations: readonly string[]
  /** Configured custom metrics by agent, fetched besides those of conversations. */
  customMetrics: IdsByOwner
  /** Configured pages of crawler jobs. */
  crawlerPages: IdsByOwner
  /** Markdown and HTML of these pages are kept. */
  keepsCrawlerBodies: boolean
  /** Streams of the resources that a sync requests by id. */
  resources: readonly string[]
  timeZone: string
  /** Business hours and service levels; absent: none. */
  responseRules?: ResponseRules
  settleMs: number
  mirrorLagMs: number
  requestsPerHour: number
  hourMs: number
  hourReserveShare: number
  /** Share of the period's quota reserved for new conversations; null: as many as they are expected to need. */
  headReserveShare: number | null
  maxPage: number
  /** Lifetime of a lease; absent: the governor's default. */
  leaseMs?: number
  /** Minimum age of the last read before a conversation or a range is exported again. */
  quietMs: number
  /** Which changes cause a refresh. */
  refreshOn: RefreshOn
  /** How far back ranges that may hide conversations are read again. */
  rereadHorizonMs: number
  /** Shares of the period's sessions that re-reads and samples may take; 0: none. */
  rereadShare: number
  sampleShare: number
  /** Maximum age of pages and of event payloads; absent: kept forever. */
  retention?: { pagesMs: number | null; eventsMs: number | null }
}

export interface CircuitBreaker {
  /** Counts the trips. A lease may send only while the count is the same as when the lease began. */
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
