// Messages and requests between a process that reads a snapshot and its parent.
import type { ErrorBody } from '../../warehouse/query/formats/cells.ts'
import type { SnapshotSettings } from '../../warehouse/query/snapshot.ts'

export interface SnapshotState {
  /** The snapshot is as fresh as the warehouse was then. ISO-8601 UTC. */
  asOf: string
  /** Identifies the contents: epoch, sequence and publication. */
  version: string
}

/** `declared`: answers `ROWS_PATH`. `adhoc`: the SQL of callers. `file`: one answer that DuckDB writes as a file. */
export type Role = 'declared' | 'adhoc' | 'file'

/** The first message to the process. `socket`: path of the Unix socket to answer on. */
export type OpenQueryProcess = SnapshotSettings & { role: Role; socket: string }

/** `overdue`: DuckDB did not interrupt a query after its timeout. `memory`: where the parent cannot read it. */
export type FromQueryProcess =
  | { kind: 'opened'; state: SnapshotState }
  | ({ kind: 'failed' } & ErrorBody)
  | { kind: 'memory'; bytes: number }
  | { kind: 'overdue' }

/** POST {"sql", "timeoutMs"}: runs SQL of our own without a guard. */
export const ROWS_PATH = '/rows'
