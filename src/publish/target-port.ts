// The port that every type of target implements in its own process, and the messages between that process and the one of the warehouse.
import type { TargetConfig } from '../config/targets.ts'
import type { Package, PackagedTable, PackageHead, Sums } from './package.ts'
import type { TargetWatermark } from './watermark.ts'

/** A target that this process has opened. If another process publishes to it, `apply` fails. */
export interface OpenTarget {
  /** Returns null if the target does not exist or has no watermark: it must be filled. */
  watermark(): Promise<TargetWatermark | null>
  /**
   * Applies a package while its tables arrive, and commits when it is complete. Readers see the state before it or the state after it.
   * @throws TARGET_CHANGED if the target no longer has the watermark that the package starts from
   */
  apply(contents: Package): Promise<void>
  sums(tables: readonly SummedTable[]): Promise<Sums>
  /** Runs after publications. @returns why it failed, or null. @throws if an erasure is not complete */
  maintain?(): Promise<string | null>
}

export type SummedTable = Pick<PackagedTable, 'name'> & { columns: { name: string; sqlType: string }[] }

export interface ExtensionPlaces {
  /** The folder with `NAME.duckdb_extension`, absolute; null: extensions are downloaded. */
  folder: string | null
  /** Where downloaded extensions are stored. */
  cache: string
}

export interface TargetSettings {
  target: TargetConfig
  extensions: ExtensionPlaces
  memoryLimit: string
  threads: number
  /** Where DuckDB writes what does not fit into memory. */
  spillFolder: string
}

export type ToTarget =
  /** Tests the target, and changes nothing. */
  | { kind: 'probe'; settings: TargetSettings }
  | { kind: 'open'; settings: TargetSettings }
  | { kind: 'apply'; head: PackageHead }
  /** A table of the package that is being applied. */
  | { kind: 'table'; table: PackagedTable }
  /** The package is complete. */
  | { kind: 'complete' }
  | { kind: 'sums'; tables: SummedTable[] }
  | { kind: 'maintain' }

export type FromTarget =
  /** `found`: the server, for people. */
  | { kind: 'probed'; found: string }
  | { kind: 'opened'; watermark: TargetWatermark | null }
  | { kind: 'applied' }
  | { kind: 'sums'; sums: Sums }
  /** `failure`: why maintenance failed, which a later publication repeats. */
  | { kind: 'maintained'; failure: string | null }
  | { kind: 'failed'; code: string; what: string; hint: string | null }
