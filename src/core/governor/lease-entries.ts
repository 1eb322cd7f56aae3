// Entries of the lease log: each granted lease, each request's outcome, each lease's end.
import type { Answer } from './answer.ts'

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
  /** The process that uses the lease, `HOST/PID/ID`: the lease is over once it has ended. Absent: unknown. */
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
