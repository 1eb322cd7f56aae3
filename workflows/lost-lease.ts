// Lost leases: the lease's worker was given up, but may still be alive and sending requests to the vendor. So the lease
// counts as held until the lease log shows that it has ended or that its process is dead, or until its deadline and one
// request's timeout have passed. Then the orchestration recovers the lease's outcome.

import type { Grant } from '../src/core/governor/governor.ts'
import { unobservedAnswer } from '../src/core/governor/lease-entries.ts'
import type { Host } from './host.ts'
import type { FetchInput, LeaseAnswers, LeaseOutcome } from './steps.ts'

export type HeldLease = Pick<Grant, 'lease' | 'deadlineMs'>

export interface LostLeaseHandling {
  host: Pick<Host, 'now' | 'sleepUntil'>
  /** True for an error that shows only that the holder was lost. */
  isLost(error: unknown): boolean
  /** Returns the time until which the lease may still be used, ms; null once it can no longer be used. */
  heldUntil(lease: HeldLease): Promise<number | null>
  /** Recovers the outcome of the lease from the landing and the lease log. */
  recoverLease(input: FetchInput): Promise<LeaseOutcome>
}

/** Fetches under a lease. If the lease's holder is lost, waits for the lease's end and recovers the outcome. */
export async function fetchOrRecover(
  handling: LostLeaseHandling,
  input: FetchInput,
  fetchPages: (input: FetchInput) => Promise<LeaseOutcome>,
): Promise<LeaseOutcome> {
  try {
    return await fetchPages(input)
  } catch (error) {
    if (!handling.isLost(error)) throw error
    await untilOver(handling, input.grant)
    return handling.recoverLease(input)
  }
}

/** Probes under a lease. If the lease's holder is lost, only the request is counted, because a probe bills nothing. */
export async function probeOrRecover(
  handling: LostLeaseHandling,
  grant: Grant,
  probe: () => Promise<LeaseAnswers>,
): Promise<LeaseAnswers> {
  try {
    return await probe()
  } catch (error) {
    if (!handling.isLost(error)) throw error
    await untilOver(handling, grant)
    return { answers: [unobservedAnswer(handling.host.now())], failure: null }
  }
}

const untilOver = ({ host, heldUntil }: LostLeaseHandling, { lease, deadlineMs }: Grant): Promise<void> =>
  waitUntilReleased(host, () => heldUntil({ lease, deadlineMs }))

/** Waits for leases of earlier runs that may still send requests, and publishes the latest time of the wait. */
export async function waitForHolders(
  host: Pick<Host, 'now' | 'sleepUntil' | 'notify'>,
  heldUntil: () => Promise<number | null>,
): Promise<void> {
  let shownMs: number | null = null
  await waitUntilReleased(host, async () => {
    const heldUntilMs = await heldUntil()
    if (heldUntilMs !== shownMs) host.notify({ kind: 'planning', heldUntilMs })
    shownMs = heldUntilMs
    return heldUntilMs
  })
}

const FIRST_CHECK_MS = 1_000

/** Passed as `wake` to a sleep that only its deadline may end. */
const NEVER = new Promise<void>(() => {})

/** Waits until `heldUntil` returns null. Checks at growing intervals, because most leases end long before their deadline. */
async function waitUntilReleased(
  host: LostLeaseHandling['host'],
  heldUntil: () => Promise<number | null>,
): Promise<void> {
  for (let checkMs = FIRST_CHECK_MS; ; checkMs *= 2) {
    const untilMs = await heldUntil()
    if (untilMs === null) return
    await host.sleepUntil(Math.min(untilMs, host.now() + checkMs), NEVER)
  }
}
