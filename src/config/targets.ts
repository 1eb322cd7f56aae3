// Targets of publications: where published data goes, what of a person's data goes there, and which rows. Without a target nothing is published.
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { MINUTE } from '../core/time.ts'
import { duration } from './duration.ts'
import { size } from './size.ts'

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

const target = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/, TARGET_NAME),
  type: z.enum(['snapshot']),
  path: z.string().min(1).optional(),
  pii: pii.prefault({}),
  rows: rows.optional(),
})

/** Names and paths are compared in lower case: a file system may not distinguish their case. */
const areUnique = (values: readonly (string | undefined)[]): boolean => {
  const given = values.flatMap(value => (value === undefined ? [] : [value.toLowerCase()]))
  return new Set(given).size === given.length
}

export const targets = z
  .array(target)
  .refine(all => areUnique(all.map(({ name }) => name)), 'must have different names')
  .refine(all => areUnique(all.map(({ path }) => path)), 'must have different paths')

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

export interface TargetConfig {
  name: string
  type: z.infer<typeof target>['type']
  /** Absolute. */
  path: string
  pii: PiiPolicy
  /** Null: all rows. */
  rows: RowFilter | null
}

export const publishConfig = ({ every, memoryLimit }: z.infer<typeof publishSettings>): PublishSettings => ({
  everyMs: every,
  memoryLimit,
})

/** Relative paths are relative to the folder of the configuration file. */
export const targetConfigs = (
  given: z.infer<typeof targets>,
  { folder, home }: { folder: string; home: string },
): TargetConfig[] =>
  given.map(({ name, type, path, pii, rows }) => ({
    name,
    type,
    path: path === undefined ? join(home, 'published', `${name}.duckdb`) : resolve(folder, path),
    pii,
    rows: rows ? { agents: rows.agents ?? [], organizations: rows.organizations ?? [] } : null,
  }))
