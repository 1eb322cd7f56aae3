// What the steps need: the resources that the composition root opened, for one workspace.
import type { LeaseEntry } from '../core/lease-entries.ts'
import type { RefreshOn } from '../core/refresh-on.ts'
import type { Landing } from '../landing/folder-landing.ts'
import type { VendorClient } from '../vendor/client.ts'
import type { Warehouse } from '../warehouse/open.ts'

export interface StepsDependencies {
  workspaceId: string
  vendor: VendorClient
  landing: Landing
  leaseLog: {
    append(entry: LeaseEntry): Promise<void>
    recent(nowMs: number, hourMs: number): Promise<LeaseEntry[]>
  }
  warehouse: Warehouse
  settings: WorkspaceSettings
  /** This process, where leases are used by one that holds the warehouse: whoever holds it next knows that it is dead. */
  holder?: string
  now: () => number
  /** Gives up what is under way. */
  signal: AbortSignal
  /** What is under way is still finished, and nothing more is asked for. */
  stopping?: AbortSignal
  /** False where whoever granted the lease has given it up: asked when the lease is in the ledger, before its first request. */
  isHeld?: () => Promise<boolean>
  /** Told of each page as it lands, for a live display. */
  onPage?: (page: { agentId: string; records: number; billed: number | null }) => void
}

/** What fetching under a lease needs: no warehouse. */
export type FetchDependencies = Omit<StepsDependencies, 'warehouse'>

export interface WorkspaceSettings {
  /** Organizations that are asked for, beside those that the tables name. */
  organizations: readonly string[]
  timeZone: string
  settleMs: number
  mirrorLagMs: number
  requestsPerHour: number
  hourMs: number
  hourReserveShare: number
  /** Least share of the period kept for new conversations. */
  headReserveShare: number
  maxPage: number
  /** How long a lease may be used; absent: the governor's own. */
  leaseMs?: number
  /** How long a conversation, or a stretch, is left alone before it is bought again. */
  quietMs: number
  /** Which changes have it bought again. */
  refreshOn: RefreshOn
  /** How far back stretches that may hide something are read again. */
  rereadHorizonMs: number
  /** Shares of the period's sessions that re-reads and samples may take; 0: none. */
  rereadShare: number
  sampleShare: number
}
