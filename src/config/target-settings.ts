// Settings that targets of several types share: personal data, rows, and full-text search.
import { z } from 'zod'
import { isS3Path } from './s3.ts'
import { filePath } from './values.ts'

const action = z.enum(['keep', 'hash', 'drop']).default('hash')

/**
 * Keep, hash or drop: what happens to values of each class of personal data. Values without personal data are always kept, and words and
 * codes too, if they have their form or content is kept.
 */
const pii = z.strictObject({
  identity: action,
  staff: action,
  device: action,
  // Text that was said or noted is never hashed: no two texts are equal, so the hash could join nothing. Labels are in keys.
  content: z.enum(['keep', 'drop']).default('drop'),
  label: z.enum(['keep', 'drop']).default('keep'),
})

export type PiiPolicy = z.infer<typeof pii>

const ids = z.array(z.string().min(1)).min(1, 'must name at least one id')

const rows = z
  .strictObject({ agents: ids.optional(), organizations: ids.optional() })
  .refine(({ agents, organizations }) => agents ?? organizations, 'must have agents or organizations')

/** Settings of every target. */
export const everyTarget = {
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/, 'must be a short name of letters, digits, dashes and underscores'),
  pii: pii.prefault({}),
  rows: rows.optional(),
}

type GivenEvery = z.infer<z.ZodObject<typeof everyTarget>>

export type EveryTarget = ReturnType<typeof sharedSettings>

export const sharedSettings = ({ name, pii, rows }: GivenEvery) => ({
  name,
  pii,
  /** The rows that the target receives: those of these agents and of these organizations' agents. Null for all. */
  rows: rows ? { agents: rows.agents ?? [], organizations: rows.organizations ?? [] } : null,
})

export const localPath = filePath.refine(
  path => !isS3Path(path),
  'must be a file on this machine: only a target `parquet` and the data of a `ducklake` can be in S3',
)

/** Languages whose word forms both DuckDB and PostgreSQL know; `simple` leaves words unchanged. */
const LANGUAGES = [
  ...(['simple', 'arabic', 'danish', 'dutch', 'english', 'finnish', 'french', 'german', 'greek', 'hungarian'] as const),
  ...(['indonesian', 'irish', 'italian', 'lithuanian', 'nepali', 'norwegian', 'portuguese', 'romanian'] as const),
  ...(['russian', 'spanish', 'swedish', 'tamil', 'turkish'] as const),
] as const

export type SearchLanguage = (typeof LANGUAGES)[number]

/** Settings of targets with full-text search. */
export const searchFields = { search: z.boolean().default(false), searchLanguage: z.enum(LANGUAGES).optional() }

type GivenSearch = z.infer<z.ZodObject<typeof searchFields>>

export const keepsContent = ({ search, pii: { content } }: GivenSearch & GivenEvery): boolean =>
  !search || content === 'keep'

export const NEEDS_CONTENT = {
  path: ['search'],
  error: 'needs the texts of messages: set pii: { content: keep }',
}

export const hasSearch = ({ search, searchLanguage }: GivenSearch): boolean => search || searchLanguage === undefined

export const NEEDS_SEARCH = {
  path: ['searchLanguage'],
  error: 'is the language of a full-text index, which the target does not have: set search: true',
}

export interface SearchableTarget extends EveryTarget {
  /** Language of the full-text index of transcripts; omitted for none. */
  search?: SearchLanguage
}

export const searchSettings = ({ search, searchLanguage }: GivenSearch): Pick<SearchableTarget, 'search'> =>
  search ? { search: searchLanguage ?? 'simple' } : {}

export interface Folders {
  /** The folder of the configuration file, to which relative paths are relative. */
  folder: string
  home: string
}

/** The configuration of one type of target. */
export interface TargetKind<Schema extends z.ZodType, Target extends EveryTarget> {
  schema: Schema
  /** @throws CONFIG_INVALID for a path that cannot be used */
  settings(given: z.infer<Schema>, folders: Folders): Target
  /** Describes the location of the data, for people. */
  place(target: Target): string
  /** Lists the places that no other target may write: absolute paths, addresses in S3, schemas of servers. */
  writes(target: Target): string[]
  /** Lists the local files and folders without which the target is gone. */
  files(target: Target): string[]
}
