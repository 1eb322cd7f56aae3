// Targets of publications: where published data goes, what of a person's data goes there, and which rows. Without a target nothing is published.
import { join, resolve, sep } from 'node:path'
import { z } from 'zod'
import { ConvohouseError } from '../core/errors.ts'
import { MINUTE } from '../core/time.ts'
import { databasePath } from './database-path.ts'
import { catalogText, type LakeSettings, lakeFields, lakeSettings, writtenByLake } from './lake-target.ts'
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
import { folderOrS3, isOfS3, isS3Path, placeAt, type S3Place, s3Settings } from './s3.ts'
import { duration, size } from './values.ts'

const TARGET_NAME = 'must be a short name of letters, digits, dashes and underscores'

const action = z.enum(['keep', 'hash', 'drop']).default('hash')

/** By class of personal data: a value is kept, hashed or dropped. Values without personal data are always kept. */
const pii = z.strictObject({
  identity: action,
  staff: action,
  device: action,
  // Text that was said or noted is never hashed: no two are equal, so nothing could be joined by the hash.
  content: z.enum(['keep', 'drop']).default('drop'),
})

const ids = z.array(z.string().min(1)).min(1, 'must name at least one id')

const rows = z
  .strictObject({ agents: ids.optional(), organizations: ids.optional() })
  .refine(({ agents, organizations }) => agents ?? organizations, 'must have agents or organizations')

/** Settings of every target. */
const common = {
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/, TARGET_NAME),
  pii: pii.prefault({}),
  rows: rows.optional(),
}

const localPath = z
  .string()
  .min(1)
  .refine(
    path => !isS3Path(path),
    'must be a file on this machine: only a target `parquet` and the data of a `ducklake` can be in S3',
  )

/** Languages whose word forms both DuckDB and PostgreSQL know; `simple`: words as they are. */
const LANGUAGES = [
  ...(['simple', 'arabic', 'danish', 'dutch', 'english', 'finnish', 'french', 'german', 'greek', 'hungarian'] as const),
  ...(['indonesian', 'irish', 'italian', 'lithuanian', 'nepali', 'norwegian', 'portuguese', 'romanian'] as const),
  ...(['russian', 'spanish', 'swedish', 'tamil', 'turkish'] as const),
] as const

export type SearchLanguage = (typeof LANGUAGES)[number]

/** Settings of targets with full-text search. */
const searchable = { search: z.boolean().default(false), searchLanguage: z.enum(LANGUAGES).optional() }

const keepsContent = ({ search, pii }: { search: boolean; pii: { content: string } }): boolean =>
  !search || pii.content === 'keep'

const NEEDS_CONTENT = {
  path: ['search'],
  error: 'needs the texts of messages: set pii: { content: keep }',
}

const hasSearch = ({ search, searchLanguage }: { search: boolean; searchLanguage?: string | undefined }): boolean =>
  search || searchLanguage === undefined

const NEEDS_SEARCH = {
  path: ['searchLanguage'],
  error: 'is the language of a full-text index, which the target does not have: set search: true',
}

const snapshot = z
  .strictObject({
    ...{ ...common, ...searchable, type: z.literal('snapshot') },
    path: localPath.optional(),
    compress: z.boolean().default(false),
  })
  .refine(keepsContent, NEEDS_CONTENT)
  .refine(hasSearch, NEEDS_SEARCH)

const partitionBy = z
  .array(z.enum(['agent', 'month']))
  .refine(given => ['month', 'agent,month'].includes(given.join()), 'must be [month] or [agent, month]')
  .default(['month'])

const parquet = z
  .strictObject({
    ...common,
    type: z.literal('parquet'),
    path: folderOrS3.optional(),
    s3: s3Settings.optional(),
    partitionBy,
  })
  .refine(({ path, s3 }) => isOfS3(path, s3), {
    path: ['s3'],
    error: 'belongs to a `path` that begins with s3://',
  })

const postgres = z
  .strictObject({
    ...common,
    ...searchable,
    type: z.literal('postgres'),
    ...serverFields,
    schema: schemaName.default('convohouse'),
  })
  .refine(verifiesByCertificates, NO_CERTIFICATES)
  .refine(keepsContent, NEEDS_CONTENT)
  .refine(hasSearch, NEEDS_SEARCH)

const ducklake = z.strictObject({ ...common, ...lakeFields }).refine(({ data, s3 }) => isOfS3(data, s3), {
  path: ['s3'],
  error: 'belongs to `data` that begins with s3://',
})

const TYPES = [snapshot, parquet, postgres, ducklake] as const

const target = z.discriminatedUnion('type', TYPES, {
  error: ({ code }) =>
    code === 'invalid_union' ? `must be one of ${TYPES.map(({ shape }) => shape.type.value).join(', ')}` : undefined,
})

type Given = z.infer<typeof target>

/** What a target writes: files or schemas. No other target may write it. */
const written = (given: Given): (string | undefined)[] => {
  if (given.type === 'ducklake') return writtenByLake(given)
  // Of which server it is, `targetConfigs` compares.
  if (given.type === 'parquet' && given.s3 !== undefined) return []
  if (given.type !== 'postgres') return [given.path]
  const { schema } = given
  return [schema, martsSchema(schema), modelsSchema(schema)].map(name => writtenSchema(given, name))
}

/** Names and paths are compared in lower case: a file system may not distinguish their case. */
const areUnique = (values: readonly (string | undefined)[]): boolean => {
  const given = values.flatMap(value => (value === undefined ? [] : [value.toLowerCase()]))
  return new Set(given).size === given.length
}

export const targets = z
  .array(target)
  .refine(all => areUnique(all.map(({ name }) => name)), 'must have different names')
  .refine(all => areUnique(all.flatMap(written)), 'must have different paths and schemas')

export const publishSettings = z.strictObject({
  every: duration.refine(ms => ms >= MINUTE, 'must be 1m at least').prefault('15m'),
  memoryLimit: size.default('512MB'),
})

export interface PublishSettings {
  /** The shortest time from the beginning of one publication to that of the next. */
  everyMs: number
  /** DuckDB's limit in the process that writes a target. */
  memoryLimit: string
}

export type PiiPolicy = z.infer<typeof pii>

/** The rows that a target receives: those of these agents, and of the agents of these organizations. */
export interface RowFilter {
  agents: readonly string[]
  organizations: readonly string[]
}

interface CommonTarget {
  name: string
  pii: PiiPolicy
  /** Null: all rows. */
  rows: RowFilter | null
}

interface SearchableTarget extends CommonTarget {
  /** The language of the full-text index of transcripts; absent: none. */
  search?: SearchLanguage
}

export interface SnapshotTarget extends SearchableTarget {
  type: 'snapshot'
  /** The file, absolute. */
  path: string
  /** Long texts are compressed, which DuckDB 1.1 cannot read; absent: they are not. */
  compress?: true
}

export type PartitionColumn = 'agent' | 'month'

export interface ParquetTarget extends CommonTarget {
  type: 'parquet'
  /** The folder, absolute, or `s3://bucket/prefix`. */
  path: string
  /** Null: the path is a folder. */
  s3: S3Place | null
  /** The levels of folders of tables with a time column. */
  partitionBy: readonly PartitionColumn[]
}

export interface PostgresTarget extends SearchableTarget, PostgresPlace {
  type: 'postgres'
}

/** A DuckLake: a catalog, and data files. */
export interface LakeTarget extends CommonTarget, LakeSettings {}

export type TargetConfig = SnapshotTarget | ParquetTarget | PostgresTarget | LakeTarget

/** The schema of the marts, beside that of the tables. */
export const martsSchema = (schema: string): string => `${schema}_marts`

/** The schema of the user's models. */
export const modelsSchema = (schema: string): string => `${schema}_models`

export type S3Target = ParquetTarget & { s3: S3Place }

/** True for a target that lies on a server: whether it can be reached is found out by connecting. */
export const isRemote = (target: TargetConfig): target is PostgresTarget | S3Target =>
  target.type === 'postgres' || (target.type === 'parquet' && target.s3 !== null)

/** Where the data of a target lies, for people. */
export function placeOf(target: TargetConfig): string {
  switch (target.type) {
    case 'postgres':
      return placeText(target)
    case 'ducklake':
      return catalogText(target)
    default:
      return target.path
  }
}

export const publishConfig = ({ every, memoryLimit }: z.infer<typeof publishSettings>): PublishSettings => ({
  everyMs: every,
  memoryLimit,
})

interface Folders {
  /** The folder of the configuration file. */
  folder: string
  home: string
}

const isWithin = (path: string, folder: string): boolean => `${path}${sep}`.startsWith(`${folder}${sep}`)

/** All of the data folder belongs to convohouse, but for the folder in which targets lie by default. @throws CONFIG_INVALID */
function expectOutside(target: TargetConfig, { file, home }: { file: string; home: string }): void {
  const free = join(home, 'published')
  const taken = pathsOf(target).find(path => isWithin(path, home) && (path === free || !isWithin(path, free)))
  if (taken === undefined) return
  throw new ConvohouseError('CONFIG_INVALID', {
    what: `${file}: target ${target.name} has the path ${taken}, among convohouse's own files in the data folder.`,
    hint: `Choose a path outside of ${home}, or one inside ${join(free, sep)}, where nothing else lies.`,
  })
}

function targetConfig(given: z.infer<typeof target>, { folder, home }: Folders): TargetConfig {
  const { name, pii, rows } = given
  const filter = rows ? { agents: rows.agents ?? [], organizations: rows.organizations ?? [] } : null
  const shared = { name, pii, rows: filter }
  const at = (path: string | undefined, inHome: string) =>
    path === undefined ? join(home, 'published', inHome) : resolve(folder, path)
  const search = 'search' in given && given.search ? { search: given.searchLanguage ?? 'simple' } : {}
  switch (given.type) {
    case 'snapshot':
      return {
        ...{ ...shared, ...search, ...(given.compress && { compress: true }), type: given.type },
        path: databasePath(at(given.path, `${name}.duckdb`), `The path of target ${name}`),
      }
    case 'parquet':
      return {
        ...{ ...shared, type: given.type, partitionBy: given.partitionBy },
        ...placeAt(given, { folder, local: at(undefined, name) }),
      }
    case 'postgres':
      return { ...shared, ...search, type: given.type, ...postgresPlace(given, folder) }
    case 'ducklake':
      return { ...shared, ...lakeSettings(given, { folder, home }) }
  }
}

/** The files, folders and prefixes that a target writes. */
function pathsOf(target: TargetConfig): string[] {
  const at = (path: string, s3: S3Place | null) => `${s3?.endpoint ?? ''}${path}`
  switch (target.type) {
    case 'postgres':
      return []
    case 'ducklake':
      return [at(target.data, target.s3), ...(target.catalog.type === 'postgres' ? [] : [target.catalog.path])]
    case 'parquet':
      return [at(target.path, target.s3)]
    default:
      return [target.path]
  }
}

/**
 * Relative paths are relative to the folder of the configuration file.
 * @throws CONFIG_INVALID for a path that DuckDB cannot use or that lies among our own files, and if two paths are the same, however each is written
 */
export function targetConfigs(
  given: z.infer<typeof targets>,
  { file, ...folders }: Folders & { file: string },
): TargetConfig[] {
  const all = given.map(one => targetConfig(one, folders))
  const seen = new Set<string>()
  for (const target of all) {
    expectOutside(target, { file, home: folders.home })
    for (const path of pathsOf(target).map(one => one.toLowerCase())) {
      if (seen.has(path))
        throw new ConvohouseError('CONFIG_INVALID', {
          what: `${file}: target ${target.name} has the path of another target.`,
          hint: 'Targets must have different paths and schemas.',
        })
      seen.add(path)
    }
  }
  return all
}
