// The record of a target type. Each type has a folder here and a line in `target-types.ts`. Records load DuckDB's
// extensions and SDKs only when called, because the warehouse process, the target's process and `doctor` all use them.
import type { PartitionColumn } from '../../config/targets/parquet.ts'
import type { TargetConfig } from '../../config/targets.ts'
import type { Warehouse } from '../../warehouse/open.ts'
import type { Reader } from '../reading.ts'
import type { Obstacle, Relation, Representation, Selection } from '../selection.ts'
import type { TargetDatabase } from '../target-database.ts'
import type { ExtensionPlaces, OpenTarget, TargetSettings } from '../target-port.ts'

/** Arguments of a refill that the warehouse process writes. */
export interface Filling {
  warehouse: Warehouse
  /** The warehouse's read transaction, which the filling commits. */
  reader: Reader
  signal: AbortSignal
  publicationId: string
}

export interface TargetType<Target extends TargetConfig = TargetConfig> {
  /** True if a delta leaves no deleted value in any file of the target. Otherwise an erasure needs a refill. */
  erasesByDelta: boolean
  /** Converts values to those that the target can hold. */
  represent?: Representation
  /** Lists what the target cannot hold of a table. The table is then not published, and the others are. */
  obstacles?(relation: Relation, target: Target): Obstacle[]
  /** Lists settings that determine the contents. If one changes, the target is written from empty. */
  contents(target: Target): readonly unknown[]
  /** Returns the partition columns, if partitions are written whole; null if the target replaces rows by key. */
  partitionBy(target: Target): readonly PartitionColumn[] | null
  /** Writes all rows from the warehouse process, which is quicker. If omitted, the target's process applies a package. */
  fill?(filling: Filling, selection: Selection, target: Target): Promise<{ tables: number; rowCount: number }>
  /** Opens the target in its own process. @throws TARGET_LOCKED, TARGET_UNUSABLE, EXTENSION_UNAVAILABLE */
  open(database: TargetDatabase, target: Target, settings: TargetSettings): Promise<OpenTarget>
  /** Maximum number of threads of the target's process; default: as configured. */
  mostThreads?: number
  /** True if the target needs maintenance after each publication (`OpenTarget.maintain`). */
  isMaintained: boolean
  /** Returns the local folder of the target; null if there is none. @throws an error that says what is wrong with a path */
  folder(target: Target): Promise<string | null>
  /** Returns the probe that a separate process runs, which changes nothing; null if there is none. */
  probe(target: Target): Probe | null
}

/** @returns its findings, for people @throws TARGET_UNUSABLE, SECRET_MISSING */
export type Probe = (database: TargetDatabase, extensions: ExtensionPlaces) => Promise<string>
