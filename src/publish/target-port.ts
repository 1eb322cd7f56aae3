// What every kind of target implements, in the target's own process, and the messages between that process and the one that holds the warehouse.
import type { TargetConfig } from '../config/targets.ts'
import type { Package, PackagedTable, PackageHead, Sums } from './package.ts'
import type { TargetWatermark } from './watermark.ts'

/** A target that this process has opened: what another process publishes meanwhile makes `apply` fail. */
export interface OpenTarget {
  /** Null: it does not exist or has no watermark, so that it must be filled. */
  watermark(): Promise<TargetWatermark | null>
  /**
   * Applies a package, while its tables arrive; nothing is committed or renamed before it is complete. Readers see the state before it, and then the state after it, never another one.
   * @throws TARGET_CHANGED if the target no longer has the watermark that the package starts from
   */
  apply(contents: Package): Promise<void>
  sums(tables: readonly SummedTable[]): Promise<Sums>
  /** What has to be done after publications, from time to time. @returns why it failed, or null. @throws if an erasure is not complete */
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
  /** Tests whether the target can be used, and changes nothing. Of a snapshot: whether the extension of its full-text index can be loaded. */
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
