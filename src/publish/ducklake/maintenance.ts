// Keeps a lake small and quick: earlier versions expire, small files and files with many deleted rows are rewritten, and files that no
// version has any more are removed. Each step is a transaction of its own, so that whatever ends it, the lake is whole.
import { quoteText } from '../../catalog/layout.ts'
import type { LakeTarget } from '../../config/targets.ts'
import { DAY, HOUR, MINUTE, momentText } from '../../core/time.ts'
import { ATTACHED } from '../attached.ts'
import type { TargetDatabase } from '../target-database.ts'
import { rewriteCatalog } from './catalog-file.ts'
import { connectedLake, exclusively, type Lake } from './lake.ts'
import { lakeError } from './lake-error.ts'
import { widenAllRanges, widenRanges } from './ranges.ts'
import { forgetDropped, ownTables, placeOf } from './stored-tables.ts'
import { describeMaintenance, hasPendingErasure, keepPending, versionsOf } from './versions.ts'

/** The newest version has at most so many files, data and deletions together, when maintenance ends. A reader opens each of its table's. */
export const MOST_FILES = 300

/** Of so many, a table is rewritten whatever its size. */
const MOST_FILES_OF_TABLE = 12

/** Smaller files are merged, and rewritten if any row is deleted. */
const SMALL_BYTES = 32 * 2 ** 20

/** A larger file is rewritten when this share of its rows is deleted. */
const DELETED_SHARE = 0.2

/** After this time no further table is begun. */
const LONGEST_MS = MINUTE

/** What a killed publication has written is removed after this time. */
const ORPHANED_MS = DAY

/** By an erasure: no publication takes so long. */
const ORPHANED_BEFORE_ERASURE_MS = HOUR

/** Names of the files that a lake writes into the folders of its tables, and of the partitions of those that their owner has partitioned. */
const OWN_FILE =
  /^(main|marts|models)\/\w+\/([^/]+=[^/]*\/)*ducklake-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-delete)?\.parquet$/

interface TableFiles {
  schema: string
  table: string
  /** Files of data and of deletions. */
  files: number
  /** Of data files with deleted rows. */
  deletedFrom: number
  deletedFromBytes: number
}

async function filesOfTables({ database, catalogTable }: Lake): Promise<TableFiles[]> {
  const rows = await database.rows<Record<keyof TableFiles, string>>(`
    SELECT s.schema_name AS schema, t.table_name AS "table", (count(*) + count(d.data_file_id))::VARCHAR AS files,
      count(d.data_file_id)::VARCHAR AS "deletedFrom",
      coalesce(sum(f.file_size_bytes) FILTER (d.data_file_id IS NOT NULL), 0)::VARCHAR AS "deletedFromBytes"
    FROM ${catalogTable('ducklake_data_file')} f
    JOIN ${catalogTable('ducklake_table')} t ON t.table_id = f.table_id AND t.end_snapshot IS NULL
    JOIN ${catalogTable('ducklake_schema')} s ON s.schema_id = t.schema_id AND s.end_snapshot IS NULL
    LEFT JOIN ${catalogTable('ducklake_delete_file')} d ON d.data_file_id = f.data_file_id AND d.end_snapshot IS NULL
    WHERE f.end_snapshot IS NULL GROUP BY ALL ORDER BY count(*) + count(d.data_file_id) DESC`)
  return rows.map(({ schema, table, files, deletedFrom, deletedFromBytes }) => ({
    ...{ schema, table, files: Number(files), deletedFrom: Number(deletedFrom) },
    deletedFromBytes: Number(deletedFromBytes),
  }))
}

/** Runs functions of DuckLake that write files, in a version of its own. */
async function rewriting(lake: Lake, calls: readonly string[], { erases = false } = {}): Promise<void> {
  const begunMs = Date.now()
  await exclusively(lake, async () => {
    for (const call of calls) await lake.database.run(`CALL ${call}`)
    await describeMaintenance(lake, { erases })
    await lake.data.sync(begunMs)
  })
}

interface Rewrite {
  /** Of deleted rows in a file: those with fewer stay. */
  share: number
  erases?: boolean
}

const rewriteDeleted = (lake: Lake, { schema, table }: TableFiles, { share, erases = false }: Rewrite): Promise<void> =>
  rewriting(
    lake,
    [
      `ducklake_rewrite_data_files('${ATTACHED}', ${quoteText(table)}, schema => ${quoteText(schema)}, delete_threshold => ${share})`,
    ],
    { erases },
  )

async function compactTable(lake: Lake, files: TableFiles): Promise<void> {
  const { schema, table } = files
  const isWhole = files.deletedFromBytes <= SMALL_BYTES || files.files > MOST_FILES_OF_TABLE
  if (files.deletedFrom > 0) await rewriteDeleted(lake, files, { share: isWhole ? 0 : DELETED_SHARE })
  await rewriting(lake, [
    `ducklake_merge_adjacent_files('${ATTACHED}', ${quoteText(table)}, schema => ${quoteText(schema)}, max_file_size => ${SMALL_BYTES})`,
  ])
}

/** Compacts the tables with the most files, until half of the limit is left. @returns true if there was anything to do */
async function compact(lake: Lake, { mostFiles, untilMs }: { mostFiles: number; untilMs: number }): Promise<boolean> {
  const tables = await filesOfTables(lake)
  let total = tables.reduce((sum, { files }) => sum + files, 0)
  if (total <= mostFiles) return false
  for (const files of tables) {
    if (total <= mostFiles / 2 || files.files === 1 || performance.now() > untilMs) break
    await compactTable(lake, files)
    total -= files.files - 1
  }
  return true
}

const before = (ms: number): string => `${quoteText(momentText(Date.now() - ms))}::TIMESTAMPTZ`

/** Expires versions, and removes the files that none has any more: only those of which no reader of an expired version needs any. */
async function expire(lake: Lake): Promise<void> {
  const { database, target, catalogTable } = lake
  const [due] = await database.rows<{ versions: boolean; files: boolean }>(`
    SELECT EXISTS (FROM ${catalogTable('ducklake_snapshot')} WHERE snapshot_time::TIMESTAMPTZ < ${before(target.keepVersionsMs)}) AS versions,
      EXISTS (FROM ${catalogTable('ducklake_files_scheduled_for_deletion')} WHERE schedule_start::TIMESTAMPTZ < ${before(target.keepFilesMs)}) AS files`)
  if (due!.versions)
    await exclusively(lake, () =>
      database.run(`CALL ducklake_expire_snapshots('${ATTACHED}', older_than => ${before(target.keepVersionsMs)})`),
    )
  if (due!.files)
    await exclusively(lake, () =>
      database.run(`CALL ducklake_cleanup_old_files('${ATTACHED}', older_than => ${before(target.keepFilesMs)})`),
    )
}

/** Removes what killed publications have left of the tables `own`; null: of all. A file that does not have the name of one of the lake's own is never touched. */
async function removeOrphans(
  { database, data, target }: Lake,
  { orphanedMs, own }: { orphanedMs: number; own: readonly string[] | null },
): Promise<void> {
  const orphans = await database.rows<{ path: string }>(
    `FROM ducklake_delete_orphaned_files('${ATTACHED}', dry_run => true, older_than => ${before(orphanedMs)})`,
  )
  const below = `${target.data}/`
  const names = orphans.flatMap(({ path }) => (path.startsWith(below) ? [path.slice(below.length)] : []))
  const isOwn = (name: string) => own === null || own.some(table => name.startsWith(`${placeOf(table).join('/')}/`))
  await data.remove(names.filter(name => OWN_FILE.test(name) && isOwn(name)))
}

/** Moves what an owner has written into the catalog (DuckLake's inlining: rows, and deletions of rows in files) to files. */
const flushInlined = (lake: Lake, own: readonly string[]): Promise<void> =>
  rewriting(
    lake,
    own
      .map(placeOf)
      .map(
        ([schema, table]) =>
          `ducklake_flush_inlined_data('${ATTACHED}', schema_name => ${quoteText(schema)}, table_name => ${quoteText(table)})`,
      ),
    { erases: true },
  )

/** Files with deleted rows are rewritten; then all versions but the newest are removed at once, and with them the files with the rows. */
async function removeEarlier(lake: Lake): Promise<void> {
  await widenAllRanges(lake)
  // First: the erasure is complete when no earlier version is left.
  const own = await ownTables(lake)
  await exclusively(lake, () => removeOrphans(lake, { orphanedMs: ORPHANED_BEFORE_ERASURE_MS, own }))
  await flushInlined(lake, await forgetDropped(lake))
  for (const files of await filesOfTables(lake))
    if (files.deletedFrom > 0) await rewriteDeleted(lake, files, { share: 0, erases: true })
  const versions = await versionsOf(lake)
  if (versions.length === 1) return
  await exclusively(lake, () => keepPending(lake, versions.at(-1)!))
  await exclusively(lake, async () => {
    const earlier = versions.slice(0, -1).join(', ')
    await lake.database.run(`CALL ducklake_expire_snapshots('${ATTACHED}', versions => [${earlier}])`)
    await lake.database.run(`CALL ducklake_cleanup_old_files('${ATTACHED}', cleanup_all => true)`)
    for (const table of own) await lake.data.removeEmptyPartitions?.(placeOf(table).join('/'))
  })
}

/**
 * Removes all that could contain what the newest version no longer has: earlier versions, and values in the catalog's statistics. A catalog
 * in PostgreSQL keeps the latter until VACUUM.
 */
export async function eraseEarlier(database: TargetDatabase, target: LakeTarget): Promise<void> {
  await connectedLake(database, { target, creates: false }, removeEarlier)
  if (target.catalog.type === 'postgres') return
  await rewriteCatalog(database, target.catalog).catch(cause => {
    throw lakeError(target, cause)
  })
}

/**
 * To be called after each publication; most times there is nothing to do.
 * @returns why it failed, or null: a later publication does the rest
 * @throws TARGET_UNUSABLE, TARGET_LOCKED if an erasure is not complete
 */
export async function maintain(
  database: TargetDatabase,
  target: LakeTarget,
  { mostFiles = MOST_FILES, orphanedMs = ORPHANED_MS } = {},
): Promise<string | null> {
  const untilMs = performance.now() + LONGEST_MS
  const options = { target, creates: false }
  if (await connectedLake(database, options, hasPendingErasure)) await eraseEarlier(database, target)
  try {
    await connectedLake(database, options, async lake => {
      await widenRanges(lake)
      await expire(lake)
      if (await compact(lake, { mostFiles, untilMs })) await removeOrphans(lake, { orphanedMs, own: null })
    })
    return null
  } catch (error) {
    return (error as Error).message
  }
}
