// Settings of a target `parquet`: Parquet files in a folder or in S3.
import { join } from 'node:path'
import { z } from 'zod'
import { folderOrS3, isOfS3, placeAt, type S3Place, s3Address, s3Settings } from '../s3.ts'
import { type EveryTarget, everyTarget, sharedSettings, type TargetKind } from '../target-settings.ts'

export type PartitionColumn = 'agent' | 'month'

export interface ParquetTarget extends EveryTarget {
  type: 'parquet'
  /** Absolute folder, or `s3://bucket/prefix`. */
  path: string
  /** Null if the path is a folder. */
  s3: S3Place | null
  /** Levels of folders for tables with a time column. */
  partitionBy: readonly PartitionColumn[]
}

const schema = z
  .strictObject({
    ...{ ...everyTarget, type: z.literal('parquet') },
    path: folderOrS3.optional(),
    s3: s3Settings.optional(),
    partitionBy: z
      .array(z.enum(['agent', 'month']))
      .refine(given => ['month', 'agent,month'].includes(given.join()), 'must be [month] or [agent, month]')
      .default(['month']),
  })
  .refine(({ path, s3 }) => isOfS3(path, s3), { path: ['s3'], error: 'belongs to a `path` that begins with s3://' })

export const parquetKind: TargetKind<typeof schema, ParquetTarget> = {
  schema,
  settings(given, { folder, home }) {
    const { name, type, partitionBy } = given
    const place = placeAt(given, { folder, local: join(home, 'published', name) })
    return { ...sharedSettings(given), type, partitionBy, ...place }
  },
  place: ({ path }) => path,
  writes: ({ path, s3 }) => [s3Address(path, s3)],
  files: ({ path, s3 }) => (s3 === null ? [join(path, 'current')] : []),
}
