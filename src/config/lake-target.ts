// Settings of a target `ducklake`: where its catalog lies, where its data, and for how long versions are kept.
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { HOUR, MINUTE } from '../core/time.ts'
import {
  NO_CERTIFICATES,
  type PostgresPlace,
  placeText,
  postgresPlace,
  schemaName,
  serverFields,
  verifiesByCertificates,
  writtenSchema,
} from './postgres-server.ts'
import { folderOrS3, placeAt, type S3Place, s3Settings } from './s3.ts'
import { duration } from './values.ts'

const CATALOG_TYPES = ['postgres', 'sqlite', 'duckdb'] as const

const fileCatalog = <T extends 'sqlite' | 'duckdb'>(type: T) =>
  z.strictObject({ type: z.literal(type), path: z.string().min(1).optional() })

const catalog = z.discriminatedUnion(
  'type',
  [
    z
      .strictObject({ type: z.literal('postgres'), ...serverFields, schema: schemaName.default('convohouse_lake') })
      .refine(verifiesByCertificates, NO_CERTIFICATES),
    fileCatalog('sqlite'),
    fileCatalog('duckdb'),
  ],
  { error: ({ code }) => (code === 'invalid_union' ? `must be one of ${CATALOG_TYPES.join(', ')}` : undefined) },
)

export const lakeFields = {
  type: z.literal('ducklake'),
  catalog: catalog.prefault({ type: 'sqlite' }),
  data: folderOrS3.optional(),
  s3: s3Settings.optional(),
  keepVersions: duration.refine(ms => ms >= HOUR, 'must be 1h at least').prefault('2d'),
  keepFiles: duration.refine(ms => ms >= MINUTE, 'must be 1m at least').prefault('1h'),
}

type Given = z.infer<z.ZodObject<typeof lakeFields>>

export type LakeCatalog =
  | ({ type: 'postgres' } & PostgresPlace)
  /** The file, absolute. */
  | { type: 'sqlite' | 'duckdb'; path: string }

export interface LakeSettings {
  type: 'ducklake'
  catalog: LakeCatalog
  /** The folder of the data files, absolute, or `s3://bucket/prefix`. */
  data: string
  /** Null: the data are in a folder. */
  s3: S3Place | null
  /** For how long earlier versions can be read. */
  keepVersionsMs: number
  /** For how long files stay that no version has any more, for readers that began before. */
  keepFilesMs: number
}

/** Where the catalog of a lake lies, for people. */
export const catalogText = ({ catalog: place }: Pick<LakeSettings, 'catalog'>): string =>
  place.type === 'postgres' ? placeText(place) : place.path

/** What no other target may write. */
export const writtenByLake = ({ catalog: given, data, s3 }: Given): (string | undefined)[] => [
  given.type === 'postgres' ? writtenSchema(given, given.schema) : given.path,
  // Of which server it is, `targetConfigs` compares.
  s3 === undefined ? data : undefined,
]

interface Folders {
  /** The folder of the configuration file. */
  folder: string
  home: string
}

export function lakeSettings(
  { type, catalog: given, data, s3, keepVersions, keepFiles, name }: Given & { name: string },
  { folder, home }: Folders,
): LakeSettings {
  const at = (path: string | undefined, inHome: string) =>
    path === undefined ? join(home, 'published', inHome) : resolve(folder, path)
  const place: LakeCatalog =
    given.type === 'postgres'
      ? { type: given.type, ...postgresPlace(given, folder) }
      : { type: given.type, path: at(given.path, `${name}.${given.type === 'sqlite' ? 'sqlite' : 'ducklake'}`) }
  const stored = placeAt({ path: data, s3 }, { folder, local: at(undefined, name) })
  const kept = { keepVersionsMs: keepVersions, keepFilesMs: keepFiles }
  return { type, catalog: place, data: stored.path, s3: stored.s3, ...kept }
}
