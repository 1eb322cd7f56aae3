// Settings of a target `snapshot`: one DuckDB file.
import { join, resolve } from 'node:path'
import { z } from 'zod'
import {
  everyTarget,
  hasSearch,
  keepsContent,
  localPath,
  NEEDS_CONTENT,
  NEEDS_SEARCH,
  type SearchableTarget,
  searchFields,
  searchSettings,
  sharedSettings,
  type TargetKind,
} from '../target-settings.ts'
import { databasePath } from '../values.ts'

export interface SnapshotTarget extends SearchableTarget {
  type: 'snapshot'
  /** Absolute path of the file. */
  path: string
  /** Compresses long texts in a format that DuckDB 1.1 cannot read. */
  compress?: true
}

const schema = z
  .strictObject({
    ...{ ...everyTarget, ...searchFields, type: z.literal('snapshot') },
    path: localPath.optional(),
    compress: z.boolean().default(false),
  })
  .refine(keepsContent, NEEDS_CONTENT)
  .refine(hasSearch, NEEDS_SEARCH)

export const snapshotKind: TargetKind<typeof schema, SnapshotTarget> = {
  schema,
  settings(given, { folder, home }) {
    const { name, type, path, compress } = given
    const file = path === undefined ? join(home, 'published', `${name}.duckdb`) : resolve(folder, path)
    return {
      ...{ ...sharedSettings(given), ...searchSettings(given), ...(compress && { compress: true }), type },
      path: databasePath(file, `The path of target ${name}`),
    }
  },
  place: ({ path }) => path,
  writes: ({ path }) => [path],
  files: ({ path }) => [path],
}
