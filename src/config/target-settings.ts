// Settings that targets of several types share: personal data, rows, and full-text search.
import { z } from 'zod'
import { isS3Path } from './s3.ts'
import { filePath } from './values.ts'

const action = z.enum(['keep', 'hash', 'drop'])

/** Text that was said or noted is never hashed: no two texts are equal, so the hash could join nothing. Labels are in keys. */
const whole = z.enum(['keep', 'drop'])

/** Values of one workspace, where they differ. */
const ofWorkspace = z
  .strictObject({ identity: action, staff: action, device: action, content: whole, label: whole })
  .partial()

/**
 * Keep, hash or drop: what happens to values of each class of personal data. Values without personal data are always kept, and words and
 * codes too, if they have their form or content is kept.
 */
export const pii = z.strictObject({
  identity: action.default('hash'),
  staff: action.default('hash'),
  device: action.default('hash'),
  content: whole.default('drop'),
  label: whole.default('keep'),
  workspaces: z.record(z.string().min(1), ofWorkspace).optional(),
})

export type PiiPolicy = z.infer<typeof pii>

/** What happens to values of each class. */
export type Actions = Omit<PiiPolicy, 'workspaces'>

/** Returns the actions for one workspace. */
export const actionsIn = (policy: PiiPolicy, workspaceId: string): Actions => ({
  ...policy,
  ...(policy.workspaces?.[workspaceId] as Partial<Actions> | undefined),
})

/** Returns the actions for all workspaces: for those without their own, then for each of the others. */
export const policiesOf = (policy: PiiPolicy): Actions[] => [
  policy,
  ...Object.keys(policy.workspaces ?? {}).map(id => actionsIn(policy, id)),
]

const ids = z.array(z.string().min(1)).min(1, 'must name at least one id')

const rows = z
  .strictObject({ workspaces: ids.optional(), agents: ids.optional(), organizations: ids.optional() })
  .refine(given => Object.keys(given).length > 0, 'must have workspaces, agents or organizations')

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
  /** The rows that the target receives: of these workspaces (default: all), those of these agents and organizations' agents. Null for all. */
  rows: rows
    ? {
        ...(rows.workspaces && { workspaces: rows.workspaces }),
        agents: rows.agents ?? [],
        organizations: rows.organizations ?? [],
      }
    : null,
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

export const keepsContent = ({ search, pii }: GivenSearch & GivenEvery): boolean =>
  !search || policiesOf(pii).every(({ content }) => content === 'keep')

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
