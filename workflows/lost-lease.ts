// A lease whose holder was lost is not granted again before its deadline, and a request's own time, have passed: until then
// a holder that is only thought dead may still ask. Then stock is taken of what it brought.

import type { Host } from './host.ts'
import type { FetchInput, LeaseOutcome, Told } from './steps.ts'

export interface Outliving {
  host: Pick<Host, 'now' | 'sleepUntil'>
  /** How long a request may take, ms. */
  timeoutMs: number
  /** True for an error that says nothing but that the holder was lost. */
  isLost(error: unknown): boolean
  takeStock(input: FetchInput): Promise<LeaseOutcome>
  /**
   * Sleeps once even where the deadline is past, so that the same is done whatever the time is. Where a worker is asked (a query)
   * before it is given a workflow's task, it takes what came since the last task at the time of that one, and a replay takes it later.
   */
  sleepsAlways: boolean
}

/** Nobody wakes who waits for a deadline. */
const NEVER = new Promise<void>(() => {})

async function pastDeadline({ host, timeoutMs, sleepsAlways }: Outliving, deadlineMs: number): Promise<void> {
  const untilMs = deadlineMs + timeoutMs
  if (sleepsAlways) await host.sleepUntil(untilMs, NEVER)
  while (host.now() < untilMs) await host.sleepUntil(untilMs, NEVER)
}

/** Fetches under a lease, and outlives the holder. */
export async function fetchOutliving(
  outliving: Outliving,
  input: FetchInput,
  fetchPages: (input: FetchInput) => Promise<LeaseOutcome>,
): Promise<LeaseOutcome> {
  try {
    return await fetchPages(input)
  } catch (error) {
    if (!outliving.isLost(error)) throw error
    await pastDeadline(outliving, input.grant.deadlineMs)
    return outliving.takeStock(input)
  }
}

/** A probe bills nothing: of one that was lost, only its request counts. */
export async function probeOutliving(
  outliving: Outliving,
  deadlineMs: number,
  probe: () => Promise<Told>,
): Promise<Told> {
  try {
    return await probe()
  } catch (error) {
    if (!outliving.isLost(error)) throw error
    await pastDeadline(outliving, deadlineMs)
    const nowMs = outliving.host.now()
    const answer = { sentAtMs: nowMs, receivedAtMs: nowMs, status: null, givenUp: true, returned: 0, billed: null }
    return { answers: [{ ...answer, usage: null, rateLimit: null, retryAfterMs: null }], failure: null }
  }
}
