// The record of a type of target. Each type has a folder here, and a line in `target-types.ts`. Records load DuckDB's extensions and SDKs
// only when called: the process of the warehouse, that of the target and `doctor` use them.
import type { PartitionColumn } from '../../config/targets/parquet.ts'
import type { TargetConfig } from '../../config/targets.ts'
import type { Warehouse } from '../../warehouse/open.ts'
import type { Reader } from '../reading.ts'
import type { Representation, Selection } from '../selection.ts'
import type { TargetDatabase } from '../target-database.ts'
import type { ExtensionPlaces, OpenTarget, TargetSettings } from '../target-port.ts'

/** The means of a refill that the process of the warehouse writes. */
export interface Filling {
  warehouse: Warehouse
  /** Its read transaction, which the filling commits. */
  reader: Reader
  signal: AbortSignal
  publicationId: string
}

export interface TargetType<Target extends TargetConfig = TargetConfig> {
  /** True if a delta leaves no deleted value in any file of the target. If not, an erasure needs a refill. */
  erasesByDelta: boolean
  /** Changes values to those that the target can hold. */
  represent?: Representation
  /** Lists settings that decide about the contents: where one differs, the target is written from empty. */
  contents(target: Target): readonly unknown[]
  /** The columns by which the target keeps partitions, which are written whole; null: it replaces rows by key. */
  partitionBy(target: Target): readonly PartitionColumn[] | null
  /** Writes all rows from the process of the warehouse, which is quicker; absent: the target's process writes a package. */
  fill?(filling: Filling, selection: Selection, target: Target): Promise<{ tables: number; rowCount: number }>
  /** Opens the target in its own process. @throws TARGET_LOCKED, TARGET_UNUSABLE, EXTENSION_UNAVAILABLE */
  open(database: TargetDatabase, target: Target, settings: TargetSettings): Promise<OpenTarget>
  /** The most threads of the target's process; absent: as configured. */
  mostThreads?: number
  /** Maintains the target after each publication (`OpenTarget.maintain`). */
  isMaintained: boolean
  /** Returns the folder on this machine that publications write into; null: none. @throws an error that says what is wrong with a path */
  folder(target: Target): Promise<string | null>
  /** Tests what a process of its own must try, and changes nothing; null: nothing of this target. */
  probe(target: Target): Probe | null
}

/** @returns what was found, for people @throws TARGET_UNUSABLE, SECRET_MISSING, EXTENSION_UNAVAILABLE */
export type Probe = (database: TargetDatabase, extensions: ExtensionPlaces) => Promise<string>
