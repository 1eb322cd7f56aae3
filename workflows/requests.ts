// Requests to the workflow that owns a workspace's quota: their queue, their order and their validation.
import type { Allowance } from '../src/core/governor/governor.ts'
import type { PreemptedSync } from './run.ts'
import type { SyncRequest } from './steps.ts'

/** The run that serves a request. `joined`: the run already served an identical request. */
export interface AcceptedRequest {
  run: string
  joined: boolean
}

/** A requested sync that has not ended. */
export interface QueuedSync {
  request: SyncRequest
  /** True if it was requested after its last planning: its new conversations then precede the history of any other sync. */
  urgent: boolean
  /** State of the sync when it was preempted; null if it was not. */
  preempted: PreemptedSync | null
}

/** Returns the sync that runs next: urgent ones first, then those that a person waits for, then the rest; each in order of request. */
export const nextSync = (queue: readonly QueuedSync[]): QueuedSync | undefined =>
  queue.find(({ urgent }) => urgent) ?? queue.find(({ request }) => !request.unattended) ?? queue[0]

/** Maximum number of syncs in the queue. */
export const QUEUE_LENGTH = 20

/** Starts that differ by less count as the same, since an age such as `90d` gives another `sinceMs` with each request. */
const SAME_SINCE_MS = 24 * 60 * 60 * 1_000

const isAboutSame = (a: number | null, b: number | null): boolean =>
  a === null || b === null ? a === b : Math.abs(a - b) < SAME_SINCE_MS

const textOf = ({
  run: _run,
  sinceMs: _since,
  consented: _consented,
  exporting: _exporting,
  origin: _origin,
  ...asked
}: SyncRequest): string => JSON.stringify(Object.entries(asked).sort(([a], [b]) => (a < b ? -1 : 1)))

/** True if both requests are for the same sync. */
export const isSameRequest = (request: SyncRequest, asked: Omit<SyncRequest, 'run'>): boolean =>
  isAboutSame(request.sinceMs, asked.sinceMs) && textOf(request) === textOf({ run: '', ...asked })

export const requestProblem = ({ workspaceId }: Omit<SyncRequest, 'run'>, own: string): string | null =>
  workspaceId === own ? null : `This workflow is workspace ${own}'s, not ${workspaceId}'s`

export function allowanceProblem({ packs, requests, sessions }: Allowance): string | null {
  const given = [packs, requests, sessions].filter(value => value !== undefined)
  if (given.length === 0) return 'Give packs, requests or sessions to allow'
  return given.every(value => Number.isInteger(value) && value >= 0)
    ? null
    : 'Packs, requests and sessions must be whole numbers, 0 or more'
}
