// All target types. A new type needs a folder here, a file in `src/config/targets`, and a line in each list.
import type { TargetConfig } from '../../config/targets.ts'
import { ducklakeType } from './ducklake/ducklake-type.ts'
import { parquetType } from './parquet/parquet-type.ts'
import { postgresType } from './postgres/postgres-type.ts'
import { snapshotType } from './snapshot/snapshot-type.ts'
import type { TargetType } from './target-type.ts'

const TYPES = { snapshot: snapshotType, parquet: parquetType, postgres: postgresType, ducklake: ducklakeType }

export const typeOf = ({ type }: TargetConfig): TargetType => TYPES[type] as TargetType
