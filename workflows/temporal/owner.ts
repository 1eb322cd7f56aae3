// The owner of a workspace's quota: what it begins with, and what it knows while it lives.
import { type CancellationScope, setCurrentDetails } from '@temporalio/workflow'
import type { Allowance } from '../../src/core/allowance.ts'
import type { GovernorState } from '../../src/core/governor.ts'
import type { PlanTold } from '../plan-told.ts'
import { details, type Progress } from '../progress.ts'
import type { Carried } from '../run.ts'
import type { SyncRequest } from '../steps.ts'
import type { Wake } from '../wake.ts'

/** What a run of the workflow begins with; what it carries over to the next is the same. */
export interface SyncInput {
  workspaceId: string
  queue?: SyncRequest[]
  carried?: { sync: Carried; allowed: Allowance[]; timeoutMs: number; aheadMs: number } | null
  progress?: Progress
  /** Of the sync that goes on. */
  plan?: PlanTold | null
}

export interface Owner {
  input: SyncInput
  queue: SyncRequest[]
  progress: Progress
  plan: PlanTold | null
  governor: GovernorState | null
  allowed: Allowance[]
  /** Wakes those who sleep until there is room. */
  nudged: Wake
  /** Of the sync that goes on: how long a request takes at most, and the vendor's clock. */
  timeoutMs: number
  aheadMs: number
  /** Of a lost lease's holder; false in runs of before. */
  sleepsAlways: boolean
  root: CancellationScope
}

/** Tells whoever looks on, in Temporal's UI too. */
export function show(owner: Owner, progress: Progress): void {
  owner.progress = { ...progress, queued: Math.max(0, owner.queue.length - 1) }
  setCurrentDetails(details(owner.progress))
}

/** Somebody wants it to end. */
export const cancelled = ({ root }: Owner): boolean => root.consideredCancelled
