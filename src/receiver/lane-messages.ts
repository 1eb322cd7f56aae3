// What the thread that reads requests and those that take bodies in tell each other. Numbers go over as arrays of numbers:
// an object for each event took longer to hand over than its verdict to find.
import type { SpoolCommit } from '../spool/spool.ts'
import type { WorkspaceSecrets } from './authenticate.ts'
import type { Refusal } from './refusals.ts'

export interface ToLane {
  /** Number of the first body; the others count on from there. */
  first: number
  /** All bodies, one behind the other. */
  bytes: Uint8Array<ArrayBuffer>
  lengths: Uint32Array
  /** The workspaces in their addresses; null where none of them has one. */
  addressed: (string | null)[] | null
  /** Whose secrets are valid from here on, where that has changed. */
  admitted?: readonly WorkspaceSecrets[]
  close?: true
}

export interface FromLane {
  /** Their numbers count on for as long as the receiver runs. */
  kept: Float64Array
  refused: [number: number, refusal: Refusal][]
  commits: SpoolCommit[]
  openSegments: number
  isClosed?: true
}
