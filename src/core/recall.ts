// The governor after a kill: its state rebuilt from the leases ledger.
import { type GovernorOptions, type GovernorState, govern, newGovernor } from './governor.ts'
import { countRequest } from './hour.ts'
import type { LeaseGranted, LedgerEntry } from './ledger-entries.ts'
import { holdPending } from './period.ts'

/**
 * Folds the ledger's entries, oldest first, into a fresh governor.
 *
 * `holdersDead`: whoever held the open leases is known to be gone (the warehouse's lock fences embedded runs). Each of
 * them then made at most the one request that was in flight, so that much is counted, and what it may have billed is
 * held back until a usage is told. Otherwise an open lease counts as wholly spent until its hour has passed.
 */
export function recall(
  options: Partial<GovernorOptions>,
  entries: readonly LedgerEntry[],
  recalled: { nowMs: number; holdersDead: boolean },
): GovernorState {
  const open = new Map<string, LeaseGranted>()
  let state = newGovernor(options)
  for (const entry of entries) {
    if (entry.kind === 'lease') open.set(entry.lease, entry)
    else if (entry.kind === 'end') open.delete(entry.lease)
    else state = govern(state, { kind: 'answered', lease: entry.lease, answer: entry })
  }
  for (const lease of open.values())
    state = recalled.holdersDead ? lostRequest(state, lease, recalled.nowMs) : stillHeld(state, lease)
  // What was spent before is no part of this run.
  return { ...state, spent: { requests: 0, sessions: 0 } }
}

const lostRequest = (state: GovernorState, lease: LeaseGranted, nowMs: number): GovernorState => ({
  ...state,
  hour: countRequest(state.hour, nowMs),
  period: holdPending(state.period, lease.pageSessions, nowMs),
})

const stillHeld = (state: GovernorState, lease: LeaseGranted): GovernorState => ({
  ...state,
  leases: [
    ...state.leases,
    {
      id: lease.lease,
      kind: 'head',
      requests: lease.requests,
      made: 0,
      sessions: lease.sessions,
      billed: 0,
      grantedAtMs: lease.atMs,
      deadlineMs: lease.deadlineMs,
    },
  ],
})
