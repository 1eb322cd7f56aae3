// A lease whose holder was lost is not granted again while a holder that is only thought dead may still ask: until the lease log
// says that it has ended, or that its process is dead, else until its deadline, and a request's own time, have passed. Then stock is
// taken of what it brought.

import type { Grant } from '../src/core/governor.ts'
import type { Host } from './host.ts'
import type { FetchInput, LeaseAnswers, LeaseOutcome } from './steps.ts'

export interface LostLeaseHandling {
  host: Pick<Host, 'now' | 'sleepUntil'>
  /** How long a request may take, ms. */
  timeoutMs: number
  /** True for an error that says nothing but that the holder was lost. */
  isLost(error: unknown): boolean
  recoverLease(input: FetchInput): Promise<LeaseOutcome>
  /** Until when that lease may still be used, ms; null: it is over. Absent in runs of before, which wait for its deadline. */
  heldUntil?(lease: HeldLease): Promise<number | null>
  /**
   * Sleeps once even where the deadline is past, so that the same is done whatever the time is. Where a worker is asked (a query)
   * before it is given a workflow's task, it takes what came since the last task at the time of that one, and a replay takes it later.
   */
  sleepsAlways: boolean
}

export type HeldLease = Pick<Grant, 'lease' | 'deadlineMs'>

/** Nobody wakes who waits for a deadline. */
const NEVER = new Promise<void>(() => {})
const SECOND = 1_000

/** Waits until nobody holds it any more. Asks now and then: most holders end long before their deadline. */
export async function waitUntilReleased(
  host: LostLeaseHandling['host'],
  heldUntil: () => Promise<number | null>,
): Promise<void> {
  for (let lookMs = SECOND; ; lookMs *= 2) {
    const untilMs = await heldUntil()
    if (untilMs === null) return
    await host.sleepUntil(Math.min(untilMs, host.now() + lookMs), NEVER)
  }
}

async function pastDeadline({ host, timeoutMs, sleepsAlways }: LostLeaseHandling, deadlineMs: number): Promise<void> {
  const untilMs = deadlineMs + timeoutMs
  if (sleepsAlways) await host.sleepUntil(untilMs, NEVER)
  while (host.now() < untilMs) await host.sleepUntil(untilMs, NEVER)
}

async function pastHolder(outliving: LostLeaseHandling, { lease, deadlineMs }: Grant): Promise<void> {
  const { host, heldUntil } = outliving
  if (heldUntil) await waitUntilReleased(host, () => heldUntil({ lease, deadlineMs }))
  else await pastDeadline(outliving, deadlineMs)
}

/** Fetches under a lease, and outlives the holder. */
export async function fetchOrRecover(
  outliving: LostLeaseHandling,
  input: FetchInput,
  fetchPages: (input: FetchInput) => Promise<LeaseOutcome>,
): Promise<LeaseOutcome> {
  try {
    return await fetchPages(input)
  } catch (error) {
    if (!outliving.isLost(error)) throw error
    await pastHolder(outliving, input.grant)
    return outliving.recoverLease(input)
  }
}

/** A probe bills nothing: of one that was lost, only its request counts. */
export async function probeOrRecover(
  outliving: LostLeaseHandling,
  grant: Grant,
  probe: () => Promise<LeaseAnswers>,
): Promise<LeaseAnswers> {
  try {
    return await probe()
  } catch (error) {
    if (!outliving.isLost(error)) throw error
    await pastHolder(outliving, grant)
    const nowMs = outliving.host.now()
    const answer = { sentAtMs: nowMs, receivedAtMs: nowMs, status: null, givenUp: true, returned: 0, billed: null }
    return { answers: [{ ...answer, usage: null, rateLimit: null, retryAfterMs: null }], failure: null }
  }
}
