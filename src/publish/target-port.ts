// The port that every target type implements in its own process, and the messages between that process and the warehouse process.
import type { TargetConfig } from '../config/targets.ts'
import type { Package, PackagedTable, PackageHead, Sums } from './package.ts'
import type { TargetWatermark } from './watermark.ts'

/** A target that this process has opened. If another process publishes to the target, `apply` fails. */
export interface OpenTarget {
  /** Returns null if the target does not exist or has no watermark, and so must be filled. */
  watermark(): Promise<TargetWatermark | null>
  /**
   * Applies a package while its tables arrive, and commits once it is complete. Readers see either the state before or the state
   * after.
   * @throws TARGET_CHANGED if the target no longer has the watermark that the package starts from
   */
  apply(contents: Package): Promise<void>
  sums(tables: readonly SummedTable[]): Promise<Sums>
  /** Runs after publications. @returns why it failed, or null. @throws if an erasure is not complete */
  maintain?(): Promise<string | null>
}

export type SummedTable = Pick<PackagedTable, 'name'> & { columns: { name: string; sqlType: string }[] }

export interface ExtensionPlaces {
  /** Absolute folder with `NAME.duckdb_extension`; null downloads extensions. */
  folder: string | null
  /** Folder for downloaded extensions. */
  cache: string
}

export interface TargetSettings {
  target: TargetConfig
  extensions: ExtensionPlaces
  memoryLimit: string
  threads: number
  /** Folder for data that does not fit into memory. */
  spillFolder: string
  /** True if the user asked for a refill, which replaces a damaged target. */
  refill?: boolean
}

export type ToTarget =
  /** Probes the target without changing it. */
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
  /** `found` names the server, for people. */
  | { kind: 'probed'; found: string }
  | { kind: 'opened'; watermark: TargetWatermark | null }
  | { kind: 'applied' }
  | { kind: 'sums'; sums: Sums }
  /** `failure`: why maintenance failed; a later publication retries it. */
  | { kind: 'maintained'; failure: string | null }
  | { kind: 'failed'; code: string; what: string; hint: string | null }
