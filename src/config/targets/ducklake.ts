// Settings of a target `ducklake`: the PostgreSQL schema of its catalog, the place of its data, and how long it keeps versions.
import { join } from 'node:path'
import { z } from 'zod'
import { HOUR, MINUTE } from '../../core/time.ts'
import {
  NO_CERTIFICATES,
  type PostgresPlace,
  placeText,
  postgresPlace,
  schemaName,
  serverFields,
  verifiesByCertificates,
  writtenSchema,
} from '../postgres-server.ts'
import { folderOrS3, isOfS3, placeAt, type S3Place, s3Address, s3Settings } from '../s3.ts'
import { type EveryTarget, everyTarget, sharedSettings, type TargetKind } from '../target-settings.ts'
import { duration } from '../values.ts'

export interface LakeTarget extends EveryTarget {
  type: 'ducklake'
  catalog: PostgresPlace
  /** Absolute folder of the data files, or `s3://bucket/prefix`. */
  data: string
  /** Null if the data is in a folder. */
  s3: S3Place | null
  /** Time for which earlier versions can be read. */
  keepVersionsMs: number
  /** Time for which files without a version stay, for readers that began before. */
  keepFilesMs: number
}

const NO_CATALOG = 'must be a schema of a PostgreSQL database: { host, database, user }'

const catalog = z
  .strictObject(
    { ...serverFields, schema: schemaName.default('convohouse_lake') },
    { error: ({ code }) => (code === 'invalid_type' ? NO_CATALOG : undefined) },
  )
  .refine(verifiesByCertificates, NO_CERTIFICATES)

const schema = z
  .strictObject({
    ...{ ...everyTarget, type: z.literal('ducklake'), catalog },
    data: folderOrS3.optional(),
    s3: s3Settings.optional(),
    keepVersions: duration.refine(ms => ms >= HOUR, 'must be 1h at least').prefault('2d'),
    keepFiles: duration.refine(ms => ms >= MINUTE, 'must be 1m at least').prefault('1h'),
  })
  .refine(({ data, s3 }) => isOfS3(data, s3), { path: ['s3'], error: 'belongs to `data` that begins with s3://' })

export const ducklakeKind: TargetKind<typeof schema, LakeTarget> = {
  schema,
  settings(given, { folder, home }) {
    const { name, type, data, s3, keepVersions, keepFiles } = given
    const stored = placeAt({ path: data, s3 }, { folder, local: join(home, 'published', name) })
    return {
      ...{ ...sharedSettings(given), type, catalog: postgresPlace(given.catalog, folder) },
      ...{ data: stored.path, s3: stored.s3, keepVersionsMs: keepVersions, keepFilesMs: keepFiles },
    }
  },
  place: target => placeText(target.catalog),
  writes: ({ catalog: place, data, s3 }) => [writtenSchema(place, place.schema), s3Address(data, s3)],
  files: ({ data, s3 }) => (s3 === null ? [data] : []),
}
