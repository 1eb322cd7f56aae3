// Rebuilds the governor's state from the lease log after a restart.

import type { QuotaState } from '../quota/quota.ts'
import {
  type GovernorOptions,
  type GovernorState,
  govern,
  holdBack,
  type Lease,
  NONE_LOST,
  newGovernor,
  withProbe,
} from './governor.ts'
import type { LeaseEntry, LeaseGranted } from './lease-entries.ts'
import { countRequest } from './rate-limit.ts'

/**
 * Folds the entries of the lease log, oldest first, into a new governor. Answers count as they do in a running governor.
 *
 * `holdersDead`: the holders of open leases are known to be dead (the warehouse's lock fences embedded runs). The log then
 * lacks at most one request per lease, the one in flight. It is counted, and the sessions that it may have billed are held back
 * until a usage report (none if the previous attempt had no connection). Otherwise an open lease counts as spent until its
 * hour has passed.
 *
 * `quota`: rebuilt from loaded pages, because the newest usage reports in the lease log alone may be too low.
 */
export function recoverGovernor(
  options: Partial<GovernorOptions>,
  entries: readonly LeaseEntry[],
  recovery: { nowMs: number; holdersDead: boolean; quota?: QuotaState },
): GovernorState {
  const fresh = newGovernor(options)
  const state = entries.reduce(applyEntry, { ...fresh, quota: recovery.quota ?? fresh.quota })
  const lost = state.leases.filter(({ made, requests }) => made < requests)
  const { leases, ...rest } = recovery.holdersDead
    ? {
        ...lost.reduce((left, lease) => lostRequest(left, lease, mayBeBilled(lease, entries), recovery.nowMs), state),
        leases: [],
      }
    : state
  // Earlier spending is not part of this run.
  return { ...rest, leases, spent: { requests: 0, sessions: 0 }, lost: NONE_LOST, breaches: 0 }
}

function applyEntry(state: GovernorState, entry: LeaseEntry): GovernorState {
  if (entry.kind === 'lease') {
    const lease = leaseOf(entry)
    const isProbe = lease.kind === 'probe'
    const probes = isProbe ? withProbe(state.probes, entry.atMs, state.options.hourMs) : state.probes
    return { ...state, probes, leases: [...state.leases, lease] }
  }
  if (entry.kind === 'end') return govern(state, { kind: 'ended', lease: entry.lease })
  return govern(state, { kind: 'answered', lease: entry.lease, answer: entry })
}

const leaseOf = (entry: LeaseGranted): Lease => ({
  id: entry.lease,
  agentId: entry.agentId,
  // `probe`, or the name of a window, which contains its kind (`openWindow`).
  kind: (entry.window.split('-')[1] ?? 'probe') as Lease['kind'],
  requests: entry.requests,
  made: 0,
  sessions: entry.sessions,
  billed: 0,
  pageSessions: entry.pageSessions,
  deadlineMs: entry.deadlineMs,
})

/** True unless the lease bills nothing, or its newest attempt had no connection, so that the next one has hardly reached the vendor. */
function mayBeBilled({ id, pageSessions }: Lease, entries: readonly LeaseEntry[]): boolean {
  const newest = entries.findLast(entry => entry.kind === 'request' && entry.lease === id)
  return pageSessions > 0 && !(newest?.kind === 'request' && newest.unsent)
}

const lostRequest = (state: GovernorState, lease: Lease, isBilled: boolean, nowMs: number): GovernorState => ({
  ...state,
  rateLimit: countRequest(state.rateLimit, nowMs, lease),
  quota: isBilled ? holdBack(state.quota, lease.pageSessions, nowMs) : state.quota,
})
