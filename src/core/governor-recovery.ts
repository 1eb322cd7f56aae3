// The governor after a kill: its state rebuilt from the leases ledger.
import {
  type GovernorOptions,
  type GovernorState,
  govern,
  holdBack,
  type Lease,
  NONE_LOST,
  newGovernor,
} from './governor.ts'
import type { LeaseEntry, LeaseGranted } from './lease-entries.ts'
import type { QuotaState } from './quota.ts'
import { countRequest } from './rate-limit.ts'

/**
 * Folds the ledger's entries, oldest first, into a fresh governor.
 *
 * `holdersDead`: whoever held the open leases is known to be gone (the warehouse's lock fences embedded runs). Each of
 * them then made at most the one request that was in flight, so that much is counted, and what it may have billed is
 * held back until a usage is told. Otherwise an open lease counts as wholly spent until its hour has passed.
 *
 * `period`: what is known of it besides. The ledger's last usage alone may be one that was told too low.
 */
export function recoverGovernor(
  options: Partial<GovernorOptions>,
  entries: readonly LeaseEntry[],
  recalled: { nowMs: number; holdersDead: boolean; quota?: QuotaState },
): GovernorState {
  const fresh = newGovernor(options)
  const state = entries.reduce(applyEntry, { ...fresh, quota: recalled.quota ?? fresh.quota })
  const { leases, ...rest } = recalled.holdersDead
    ? { ...state.leases.reduce((left, lease) => lostRequest(left, lease, recalled.nowMs), state), leases: [] }
    : state
  // What was spent before is no part of this run.
  return { ...rest, leases, spent: { requests: 0, sessions: 0 }, lost: NONE_LOST, breaches: 0 }
}

function applyEntry(state: GovernorState, entry: LeaseEntry): GovernorState {
  if (entry.kind === 'lease') return { ...state, leases: [...state.leases, leaseOf(entry)] }
  if (entry.kind === 'end') return govern(state, { kind: 'ended', lease: entry.lease })
  return govern(state, { kind: 'answered', lease: entry.lease, answer: entry })
}

const leaseOf = (entry: LeaseGranted): Lease => ({
  id: entry.lease,
  // Reserves are asked of new leases only, so the kind of a window does not matter any more.
  kind: entry.window === 'probe' ? 'probe' : 'head',
  requests: entry.requests,
  made: 0,
  sessions: entry.sessions,
  billed: 0,
  pageSessions: entry.pageSessions,
  grantedAtMs: entry.atMs,
  deadlineMs: entry.deadlineMs,
})

const lostRequest = (state: GovernorState, lease: Lease, nowMs: number): GovernorState => ({
  ...state,
  rateLimit: countRequest(state.rateLimit, nowMs),
  quota: lease.pageSessions === 0 ? state.quota : holdBack(state.quota, lease.pageSessions, nowMs),
})
