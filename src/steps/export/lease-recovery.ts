// Recovers leases whose worker was killed or is presumed dead. A worker sends no request after it has logged the
// lease's end or after the deadline, so landing and lease log are complete once deadline and request timeout have
// passed. A lease that names its process is over once that process has ended.
import { hostname } from 'node:os'
import type { HeldLease } from '../../../workflows/lost-lease.ts'
import type { LeaseOutcome } from '../../../workflows/steps.ts'
import type { Grant } from '../../core/governor/governor.ts'
import type { LeaseEntry, LeaseGranted, RequestMade } from '../../core/governor/lease-entries.ts'
import { type Answer, unobservedAnswer } from '../../core/governor/lease-entries.ts'
import { countsSince } from '../../core/planning/window-progress.ts'
import type { WindowProgress } from '../../core/planning/windows.ts'
import { hasEnded } from '../../files/ended-process.ts'
import { type Fetching, pastLanded } from './fetch.ts'

/** Id prefix of leases granted by a workflow: their workers may outlive the workflow. */
const WORKFLOW_LEASE = 'wf-'

const answerOf = ({ kind: _kind, lease: _lease, agentId: _agentId, error: _error, ...answer }: RequestMade): Answer =>
  answer

type LeaseReader = Pick<Fetching, 'leaseLog' | 'now' | 'settings' | 'holder'>

async function entriesOf(
  { leaseLog, now, settings }: LeaseReader,
  { lease, deadlineMs }: HeldLease,
): Promise<LeaseEntry[]> {
  const sinceMs = deadlineMs - (settings.leaseMs ?? settings.hourMs)
  const recent = await leaseLog.recent(now(), Math.max(settings.hourMs, now() - sinceMs))
  return recent.filter(entry => entry.lease === lease)
}

/** Recovers the lease's outcome from landing and lease log, and logs its end. Idempotent. */
export async function recoverLease(fetching: Fetching, start: WindowProgress, grant: Grant): Promise<LeaseOutcome> {
  const entries = await entriesOf(fetching, grant)
  const requests = entries.filter((entry): entry is RequestMade => entry.kind === 'request')
  const progress = await pastLanded(fetching, start, grant)
  const answers = requests.map(answerOf)
  const began = entries.some(entry => entry.kind === 'lease')
  const ended = entries.some(entry => entry.kind === 'end')
  if (began && !ended) {
    const atMs = fetching.now()
    if (answers.filter(({ unsent }) => !unsent).length < grant.requests) {
      // After an attempt without a connection, the next one has hardly reached the vendor: it is counted, but no bill is assumed.
      const answer = { ...unobservedAnswer(atMs), ...(answers.at(-1)?.unsent && { isProbe: true }) }
      answers.push(answer)
      const { agentId } = start.window
      await fetching.leaseLog.append({ kind: 'request', lease: grant.lease, agentId, error: 'INTERRUPTED', ...answer })
    }
    await fetching.leaseLog.append({ kind: 'end', lease: grant.lease, atMs })
  }
  return {
    progress,
    answers,
    ...countsSince(start, progress),
    failure: null,
  }
}

/** Returns the name of this process in the leases that it uses: `HOST/PID/ID`. */
export const holderOf = (id: string): string => `${hostname()}/${process.pid}/${id}`

/** True if the process that held the lease has certainly ended: only processes of this host can be looked up. */
function isDead({ holder }: LeaseGranted, own: string | undefined): boolean {
  if (holder === undefined || holder === own) return false
  const [host, pid] = holder.split('/')
  return host === hostname() && hasEnded(Number(pid))
}

/**
 * Returns the time until which leases of workflows, such as a terminated one, may still send requests; null if none
 * may. Valid only in the process that holds the warehouse. `graceMs`: request timeout.
 */
export async function heldUntilMs(
  { leaseLog, now, settings, holder }: LeaseReader,
  graceMs: number,
): Promise<number | null> {
  const recent = await leaseLog.recent(now(), Math.max(settings.hourMs, (settings.leaseMs ?? 0) + graceMs))
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

/** Returns the end of an abandoned lease, ms; null if over. One that is not in the log never starts: its worker checks first. */
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
