import type { ParquetTarget } from '../../../config/targets/parquet.ts'
import { destinationOf } from '../../../files/destination.ts'
import { HAS_NO_FOLDER, partitionColumns } from '../../partitions.ts'
import type { TargetType } from '../target-type.ts'

/** AWS's SDK takes longer to load than everything else, and few targets need it. */
const s3 = () => import('./parquet-s3.ts')

export const parquetType: TargetType<ParquetTarget> = {
  erasesByDelta: true,
  contents: ({ partitionBy }) => [partitionBy],
  partitionBy: ({ partitionBy }) => partitionBy,
  obstacles: (relation, { partitionBy }) =>
    partitionColumns(relation, partitionBy).includes('agent')
      ? [{ reason: 'the id of an agent cannot be the name of a folder', rows: HAS_NO_FOLDER }]
      : [],
  async open(database, target, settings) {
    if (target.s3 !== null) return (await s3()).openParquetS3({ database, place: target.s3, settings })
    return (await import('./parquet.ts')).openParquet(database, target, settings)
  },
  isMaintained: false,
  folder: async ({ path, s3: place }) => (place === null ? destinationOf(path) : null),
  probe: ({ s3: place }) => place && (async () => (await s3()).probeParquetS3(place)),
}
