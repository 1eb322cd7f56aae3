// Targets of publications: where published data goes. Without a target nothing is published. A new target type needs a
// file in this folder's `targets` and a line in `KINDS`; `src/publish/targets` contains the code that writes it.
import { isAbsolute, join, sep } from 'node:path'
import { z } from 'zod'
import { ConvohouseError } from '../core/errors.ts'
import { MINUTE } from '../core/time.ts'
import type { EveryTarget, Folders, TargetKind } from './target-settings.ts'
import { ducklakeKind, type LakeTarget } from './targets/ducklake.ts'
import { type ParquetTarget, parquetKind } from './targets/parquet.ts'
import { type PostgresTarget, postgresKind } from './targets/postgres.ts'
import { type SnapshotTarget, snapshotKind } from './targets/snapshot.ts'
import { duration, size } from './values.ts'

const KINDS = { snapshot: snapshotKind, parquet: parquetKind, postgres: postgresKind, ducklake: ducklakeKind }

export type TargetConfig = SnapshotTarget | ParquetTarget | PostgresTarget | LakeTarget

type AnyKind = TargetKind<z.ZodType, TargetConfig & EveryTarget>

const kindOf = ({ type }: Pick<TargetConfig, 'type'>): AnyKind => KINDS[type] as unknown as AnyKind

const target = z.discriminatedUnion(
  'type',
  [KINDS.snapshot.schema, KINDS.parquet.schema, KINDS.postgres.schema, KINDS.ducklake.schema],
  {
    error: ({ code }) => (code === 'invalid_union' ? `must be one of ${Object.keys(KINDS).join(', ')}` : undefined),
  },
)

export const targets = z
  .array(target)
  // Compared in lower case, since a file system may not distinguish the case of files named after a target.
  .refine(all => new Set(all.map(({ name }) => name.toLowerCase())).size === all.length, 'must have different names')

export const publishSettings = z.strictObject({
  every: duration.refine(ms => ms >= MINUTE, 'must be 1m at least').prefault('15m'),
  memoryLimit: size.default('512MB'),
})

export const publishConfig = ({ every, memoryLimit }: z.infer<typeof publishSettings>) => ({
  /** Minimum time from the beginning of one publication to that of the next. */
  everyMs: every,
  /** DuckDB's limit in the process that writes a target. */
  memoryLimit,
})

export type PublishSettings = ReturnType<typeof publishConfig>

/** Describes the location of a target's data, for people. */
export const placeOf = (target: TargetConfig): string => kindOf(target).place(target)

/** Lists the local files and folders without which a target is gone. */
export const filesOf = (target: TargetConfig): string[] => kindOf(target).files(target)

const isWithin = (path: string, folder: string): boolean => `${path}${sep}`.startsWith(`${folder}${sep}`)

/** Refuses paths in the data folder, which belongs to convohouse except for the default folder of targets. @throws CONFIG_INVALID */
function expectOutside(target: TargetConfig, { file, home }: { file: string; home: string }): void {
  const free = join(home, 'published')
  const paths = kindOf(target)
    .writes(target)
    .filter(place => isAbsolute(place))
  const taken = paths.find(path => isWithin(path, home) && (path === free || !isWithin(path, free)))
  if (taken === undefined) return
  throw new ConvohouseError('CONFIG_INVALID', {
    what: `${file}: target ${target.name} has the path ${taken}, among convohouse's own files in the data folder.`,
    hint: `Choose a path outside of ${home}, or one inside ${join(free, sep)}, where nothing else lies.`,
  })
}

/**
 * Resolves the settings of targets.
 * @throws CONFIG_INVALID for a path that DuckDB cannot use or that is among our own files, and if two targets write the same place
 */
export function targetConfigs(
  given: z.infer<typeof targets>,
  { file, ...folders }: Folders & { file: string },
): TargetConfig[] {
  const all = given.map(one => kindOf(one).settings(one, folders))
  const seen = new Set<string>()
  for (const target of all) {
    expectOutside(target, { file, home: folders.home })
    for (const place of kindOf(target).writes(target)) {
      if (seen.has(place.toLowerCase()))
        throw new ConvohouseError('CONFIG_INVALID', {
          what: `${file}: target ${target.name} has the path or the schema of another target.`,
          hint: 'Targets must have different paths and schemas.',
        })
      seen.add(place.toLowerCase())
    }
  }
  return all
}
