// What the thread that reads requests and those that take bodies in tell each other.
import type { Commit } from '../spool/writer.ts'
import type { Verdict } from './refusals.ts'

export interface ToLane {
  /** All bodies, one behind the other: to hand over one buffer costs as much as to copy a small one. */
  bytes: Uint8Array<ArrayBuffer>
  bodies: { number: number; length: number; addressed: string | null }[]
  close?: true
}

export interface FromLane {
  verdicts: [number: number, verdict: Verdict][]
  commits: Commit[]
  openSegments: number
  isClosed?: true
}
