// Keeps a lake small, quick and correct: widens ranges, expires earlier versions, rewrites small files and files with many deleted
// rows, and removes files that no version uses. Each step is a separate transaction, so that the lake is consistent after each.
//
// The range of a column is its minimum and maximum, by which DuckDB skips files. DuckLake writes no range for a column of a file
// with a long non-ASCII text, with NaN, or with a row group of NULLs. Its next transaction then takes the range of its own files
// for that of the whole table, and queries with a filter lose rows. `test/bi/ducklake.bi.ts` fails once DuckLake has fixed this.
import { quoteText } from '../../../catalog/layout.ts'
import type { LakeTarget } from '../../../config/targets/ducklake.ts'
import { MINUTE, momentText } from '../../../core/time.ts'
import { ATTACHED } from '../../attached.ts'
import type { TargetDatabase } from '../../target-database.ts'
import { connectedLake, describeVersion, exclusively, type Lake } from './lake.ts'

/** The full range of a type, by DuckLake's name of the type. */
const WHOLE: Record<string, readonly [string, string]> = {
  varchar: ['', String.fromCodePoint(0x10ffff).repeat(3)],
  int32: ['-2147483648', '2147483647'],
  int64: ['-9223372036854775808', '9223372036854775807'],
  float64: ['-inf', 'inf'],
  boolean: ['false', 'true'],
  date: ['-infinity', 'infinity'],
  timestamptz: ['-infinity', 'infinity'],
}

interface Narrow {
  table: string
  column: string
  type: string
  min: string | null
  max: string | null
}

/**
 * Widens the range of each column that has values in a file without a range. Runs before the lake's tables are read,
 * and outside of transactions, because DuckLake caches the ranges it has read.
 */
export async function widenRanges({ database, catalogTable }: Lake): Promise<void> {
  const ranges = catalogTable('ducklake_table_column_stats')
  const found = await database.rows<Narrow>(`
    SELECT DISTINCT s.table_id::VARCHAR AS "table", s.column_id::VARCHAR AS "column", c.column_type AS type,
      s.min_value AS min, s.max_value AS max
    FROM ${ranges} s
    JOIN ${catalogTable('ducklake_column')} c ON c.table_id = s.table_id AND c.column_id = s.column_id
    JOIN ${catalogTable('ducklake_file_column_stats')} f ON f.table_id = s.table_id AND f.column_id = s.column_id
    WHERE f.value_count > 0 AND (f.min_value IS NULL OR f.max_value IS NULL)`)
  const narrow = found.flatMap(({ table, column, type, min, max }) => {
    const whole = WHOLE[type]
    return !whole || (min === whole[0] && max === whole[1]) ? [] : [{ table, column, whole }]
  })
  if (narrow.length === 0) return
  // DuckLake answers `min` and `max` from the ranges while the insert count equals the row count; adding one to it prevents that.
  await database.run(`UPDATE ${catalogTable('ducklake_table_stats')} SET record_count = record_count + 1
    WHERE table_id IN (${narrow.map(({ table }) => table).join(', ')})`)
  for (const { table, column, whole } of narrow) {
    const [least, greatest] = whole.map(quoteText)
    await database.run(`UPDATE ${ranges} SET min_value = ${least}, max_value = ${greatest}
      WHERE table_id = ${table} AND column_id = ${column}`)
  }
}

/** Maximum number of files in the newest version after maintenance. A reader opens each file of its table. */
const MOST_FILES = 300

/** From this many files on, a table is rewritten regardless of size. */
const MOST_FILES_OF_TABLE = 12

/** Smaller files are merged, and rewritten if any of their rows is deleted. */
const SMALL_BYTES = 32 * 2 ** 20

/** A larger file is rewritten when this share of its rows is deleted. */
const DELETED_SHARE = 0.2

/** No further table is started after this time. */
const LONGEST_MS = MINUTE

/** Matches the names of files that DuckLake writes into the folders of tables. */
const OWN_FILE = /^(main|marts|models)\/\w+\/ducklake-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-delete)?\.parquet$/

interface TableFiles {
  schema: string
  table: string
  /** Number of files with data or deletions. */
  files: number
  /** Number of data files with deleted rows, and their size. */
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

/** Runs a DuckLake function that rewrites files, in a separate version. The change feed shows its rows as updates. */
async function rewriting(lake: Lake, call: string): Promise<void> {
  const begunMs = Date.now()
  await exclusively(lake, async () => {
    await lake.database.run(`CALL ${call}`)
    await describeVersion(lake, 'maintenance')
    await lake.data.sync(begunMs)
  })
}

async function compactTable(lake: Lake, { schema, table, files, deletedFrom, deletedFromBytes }: TableFiles) {
  const of = `'${ATTACHED}', ${quoteText(table)}, schema => ${quoteText(schema)}`
  const isWhole = deletedFromBytes <= SMALL_BYTES || files > MOST_FILES_OF_TABLE
  const share = isWhole ? 0 : DELETED_SHARE
  if (deletedFrom > 0) await rewriting(lake, `ducklake_rewrite_data_files(${of}, delete_threshold => ${share})`)
  await rewriting(lake, `ducklake_merge_adjacent_files(${of}, max_file_size => ${SMALL_BYTES})`)
}

/** Compacts the tables with the most files until half of the limit is free. @returns true if there was anything to do */
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

/** Expires versions. Removes files that no version uses, once readers of an expired version no longer need them. */
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

/** Removes leftovers of killed publications; under the lock nobody else writes. Keeps files whose names DuckLake did not choose. */
const removeOrphans = (lake: Lake): Promise<void> =>
  exclusively(lake, async () => {
    const { database, data, target } = lake
    const orphans = await database.rows<{ path: string }>(
      `FROM ducklake_delete_orphaned_files('${ATTACHED}', dry_run => true, cleanup_all => true)`,
    )
    const below = `${target.data}/`
    const names = orphans.flatMap(({ path }) => (path.startsWith(below) ? [path.slice(below.length)] : []))
    await data.remove(names.filter(name => OWN_FILE.test(name)))
  })

/** Removes every version before the newest, with its files, which may contain values that are no longer published. */
async function eraseEarlier(lake: Lake): Promise<void> {
  await removeOrphans(lake)
  await exclusively(lake, async () => {
    const { database, catalogTable } = lake
    const versions = await database.rows<{ id: string }>(
      `SELECT snapshot_id::VARCHAR AS id FROM ${catalogTable('ducklake_snapshot')} ORDER BY snapshot_id`,
    )
    const earlier = versions.slice(0, -1).map(({ id }) => id)
    if (earlier.length === 0) return
    await database.run(`CALL ducklake_expire_snapshots('${ATTACHED}', versions => [${earlier.join(', ')}])`)
    await database.run(`CALL ducklake_cleanup_old_files('${ATTACHED}', cleanup_all => true)`)
  })
}

/** True if earlier versions remain although the newest is an erasure: the process that published it ended too early. */
async function hasPendingErasure({ database, catalogTable }: Lake): Promise<boolean> {
  const rows = await database.rows(`
    SELECT 1 FROM ${catalogTable('ducklake_snapshot_changes')} WHERE contains(commit_extra_info, '"erases":true')
      AND snapshot_id > (SELECT min(snapshot_id) FROM ${catalogTable('ducklake_snapshot')}) LIMIT 1`)
  return rows.length > 0
}

/** Completes an erasure that a version announces. @throws TARGET_UNUSABLE, TARGET_LOCKED */
export async function completeErasure(lake: Lake): Promise<void> {
  if (await hasPendingErasure(lake)) await eraseEarlier(lake)
}

/**
 * Runs after each publication; usually there is nothing to do. @returns why it failed, or null; a later publication does the rest
 * @throws TARGET_UNUSABLE, TARGET_LOCKED if an erasure is not complete
 */
export async function maintain(
  database: TargetDatabase,
  target: LakeTarget,
  { mostFiles = MOST_FILES } = {},
): Promise<string | null> {
  const untilMs = performance.now() + LONGEST_MS
  const options = { target, creates: false }
  await connectedLake(database, options, completeErasure)
  try {
    await connectedLake(database, options, async lake => {
      await widenRanges(lake)
      await expire(lake)
      if (await compact(lake, { mostFiles, untilMs })) await removeOrphans(lake)
    })
    return null
  } catch (error) {
    return (error as Error).message
  }
}
