// Entries of the lease log: each granted lease, each request's answer, each lease's end.
import type { ReportedRateLimit, ReportedUsage } from '../quota/reported-usage.ts'

export interface LeaseGranted {
  kind: 'lease'
  lease: string
  /** `probe`, or the name of a window. */
  window: string
  agentId: string
  requests: number
  sessions: number
  pageSessions: number
  atMs: number
  deadlineMs: number
  /** The process that uses the lease, `HOST/PID/ID`: the lease is over once it has ended. Omitted if unknown. */
  holder?: string
}

export interface RequestMade extends Answer {
  kind: 'request'
  lease: string | null
  agentId: string
  /** Code of our error; null for an accepted answer. */
  error: string | null
}

export interface LeaseEnded {
  kind: 'end'
  lease: string
  atMs: number
}

export type LeaseEntry = LeaseGranted | RequestMade | LeaseEnded

export const momentOf = (entry: LeaseEntry): number => (entry.kind === 'request' ? entry.sentAtMs : entry.atMs)

/** Times are ms of this machine's clock. */
export interface Answer {
  sentAtMs: number
  receivedAtMs: number
  /** HTTP status; null if no answer came. */
  status: number | null
  /** True if we aborted the request, so that its outcome does not show the vendor's state. */
  givenUp?: boolean
  /** True if no connection was made, so that the vendor neither counted nor billed the request. */
  unsent?: boolean
  /** True for the answer to a probe. */
  isProbe?: boolean
  returned: number
  billed: number | null
  /** Maximum number of sessions in one of the records; omitted if there are none. */
  mostSessions?: number
  usage: ReportedUsage | null
  rateLimit: ReportedRateLimit | null
  retryAfterMs: number | null
}

/** Returns an assumed answer to a request that was possibly sent before its worker was lost. Its bill is unknown. */
export const unobservedAnswer = (nowMs: number): Answer => ({
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
