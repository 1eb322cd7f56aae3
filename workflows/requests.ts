// Requests to the workflow that owns a workspace's quota: their queue, their order and their validation.
import type { Allowance } from '../src/core/governor/governor.ts'
import type { IdsByAgent } from '../src/core/planning/id-windows.ts'
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
  /** True if it was requested after its last planning: its new conversations then come before the history of any other sync. */
  urgent: boolean
  /** Where the sync stopped when it was preempted; null: it was not. */
  preempted: PreemptedSync | null
}

/** Returns the sync that runs next: urgent ones first, then those that a person waits for, then the rest; each in order of request. */
export const nextSync = (queue: readonly QueuedSync[]): QueuedSync | undefined =>
  queue.find(({ urgent }) => urgent) ?? queue.find(({ request }) => !request.unattended) ?? queue[0]

/** Maximum number of syncs in the queue. */
export const QUEUE_LENGTH = 20
/** Maximum number of ids per request, because ids are part of the workflow's history and of each lease's input. */
const MAX_IDS = 5_000

/** Starts that differ by less than this count as the same: an age such as `90d` gives a different `sinceMs` with each request. */
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

/** `ids` comes from any Temporal client, so its shape is not certain. */
export function idsProblem(ids: IdsByAgent): string | null {
  const isPair = (pair: unknown) => Array.isArray(pair) && typeof pair[0] === 'string' && Array.isArray(pair[1])
  if (!Array.isArray(ids) || !ids.every(isPair)) return 'Give the conversations as pairs: [["AGENT", ["ID", "ID"]]]'
  const lists = ids.map(([, own]) => own)
  const count = lists.reduce((sum, list) => sum + list.length, 0)
  if (count === 0) return 'No conversation is listed'
  if (count > MAX_IDS) return `${count} conversations are listed; at most ${MAX_IDS} are allowed per request`
  return lists.flat().every(id => typeof id === 'string' && id !== '') ? null : 'An id is empty or not a text'
}

/** Returns a sync of these conversations only. */
export const refreshOf = (workspaceId: string, ids: IdsByAgent): Omit<SyncRequest, 'run'> => ({
  workspaceId,
  agents: [],
  sinceMs: null,
  untilMs: null,
  mode: 'selected',
  ids,
  refresh: null,
  maxRequests: null,
  maxSessions: null,
  allowedPacks: 0,
  wait: true,
})
