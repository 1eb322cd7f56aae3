// Leases whose holder was lost: a worker that was killed, or that is only thought dead. Its holder makes no request after the end that
// it tells the ledger, nor after the deadline, so once that and a request's own timeout have passed, what the landing and the ledger
// tell is all that it brought. One that held the warehouse makes none when another process holds it.
import type { HeldLease } from '../../workflows/lost-lease.ts'
import type { LeaseOutcome } from '../../workflows/steps.ts'
import type { Answer, Grant } from '../core/governor.ts'
import type { LeaseEntry, LeaseGranted, RequestMade } from '../core/lease-entries.ts'
import type { WindowProgress } from '../core/windows.ts'
import { type Fetching, pastLanded } from './fetch.ts'

/** Leases that a workflow granted have ids of this beginning: their holders may outlive whoever granted them. */
export const WORKFLOW_LEASE = 'wf-'

const answerOf = ({ kind: _kind, lease: _lease, agentId: _agentId, error: _error, ...answer }: RequestMade): Answer =>
  answer

/** At most one request was under way when the holder was lost; what it billed nobody saw. */
const unobservedRequest = (nowMs: number): Answer => ({
  sentAtMs: nowMs,
  receivedAtMs: nowMs,
  status: null,
  givenUp: true,
  returned: 0,
  billed: null,
  usage: null,
  rateLimit: null,
  retryAfterMs: null,
})

type LeaseReader = Pick<Fetching, 'leaseLog' | 'now' | 'settings' | 'holder'>

async function entriesOf(
  { leaseLog: ledger, now, settings }: LeaseReader,
  { lease, deadlineMs }: HeldLease,
): Promise<LeaseEntry[]> {
  const sinceMs = deadlineMs - (settings.leaseMs ?? settings.hourMs)
  const recent = await ledger.recent(now(), Math.max(settings.hourMs, now() - sinceMs))
  return recent.filter(entry => entry.lease === lease)
}

/** What that lease brought, and its end in the ledger. Asked again, it answers the same. */
export async function recoverLease(fetching: Fetching, start: WindowProgress, grant: Grant): Promise<LeaseOutcome> {
  const entries = await entriesOf(fetching, grant)
  const requests = entries.filter((entry): entry is RequestMade => entry.kind === 'request')
  const progress = await pastLanded(fetching, start, grant.limit)
  const answers = requests.map(answerOf)
  const began = entries.some(entry => entry.kind === 'lease')
  const ended = entries.some(entry => entry.kind === 'end')
  if (began && !ended) {
    const atMs = fetching.now()
    if (answers.length < grant.requests) {
      const answer = unobservedRequest(atMs)
      answers.push(answer)
      const { agentId } = start.window
      await fetching.leaseLog.append({ kind: 'request', lease: grant.lease, agentId, error: 'INTERRUPTED', ...answer })
    }
    await fetching.leaseLog.append({ kind: 'end', lease: grant.lease, atMs })
  }
  return {
    progress,
    answers,
    pages: progress.pages - start.pages,
    conversations: progress.returned - start.returned,
    failure: null,
  }
}

/** Asked by whoever holds the warehouse. */
const isDead = ({ holder }: LeaseGranted, own: string | undefined): boolean => holder !== undefined && holder !== own

/**
 * Until when holders of leases may still ask, though nobody knows of them any more: of a workflow that was terminated, say.
 * Null where nobody may. For the process that holds the warehouse. `graceMs`: how long a request may take.
 */
export async function heldUntilMs(
  { leaseLog: ledger, now, settings, holder }: LeaseReader,
  graceMs: number,
): Promise<number | null> {
  const recent = await ledger.recent(now(), Math.max(settings.hourMs, (settings.leaseMs ?? 0) + graceMs))
  const ended = new Set(recent.flatMap(entry => (entry.kind === 'end' ? [entry.lease] : [])))
  const untilMs = recent.flatMap(entry =>
    entry.kind === 'lease' &&
    entry.lease.startsWith(WORKFLOW_LEASE) &&
    !ended.has(entry.lease) &&
    !isDead(entry, holder)
      ? [entry.deadlineMs + graceMs]
      : [],
  )
  const lastMs = Math.max(...untilMs)
  return lastMs > now() ? lastMs : null
}

/** The same of one lease that was given up. One that the ledger does not know is never begun: its worker asks first whether it still holds it. */
export async function leaseHeldUntilMs(
  reading: LeaseReader,
  lease: HeldLease,
  graceMs: number,
): Promise<number | null> {
  const entries = await entriesOf(reading, lease)
  const isUsed = entries.some(entry => entry.kind === 'lease' && !isDead(entry, reading.holder))
  const isOver = !isUsed || entries.some(({ kind }) => kind === 'end')
  const untilMs = lease.deadlineMs + graceMs
  return !isOver && untilMs > reading.now() ? untilMs : null
}
