// The target `ducklake`: a catalog in PostgreSQL, and Parquet files. One transaction of the lake applies a package together with its
// watermark and makes one version: readers see the version before it until the commit.
//
// A transaction compares the watermark before it changes anything, and then replaces its row. If two transactions run concurrently, the
// lake refuses the later one.
import { quoteName, quoteText } from '../../../catalog/layout.ts'
import type { LakeTarget } from '../../../config/targets/ducklake.ts'
import { placeOf } from '../../../config/targets.ts'
import { counted } from '../../../core/words.ts'
import { ATTACHED, attachedTable, createTable, deleteRows, insertRows, sumsOf } from '../../attached.ts'
import type { Package, PackagedTable } from '../../package.ts'
import type { TargetDatabase } from '../../target-database.ts'
import type { ExtensionPlaces, OpenTarget } from '../../target-port.ts'
import {
  expectBase,
  readStoredWatermark,
  type TargetWatermark,
  WATERMARK_TABLE,
  watermarkValues,
} from '../../watermark.ts'
import { connectedLake, describeVersion, exclusively, type Lake, loadExtensions, SCHEMAS } from './lake.ts'
import { completeErasure, maintain, widenRanges } from './maintenance.ts'

const WATERMARK = `${ATTACHED}.main.${WATERMARK_TABLE}`

/**
 * Each writing thread holds a row group. DuckDB's default of 122,880 rows needs too much memory for wide rows. Level 3
 * of zstd takes a seventh longer and saves 3 %.
 */
const OPTIONS = { parquet_compression: 'zstd', parquet_compression_level: '1', parquet_row_group_size: '8192' }

/** Declares JSON columns as text, which all engines read alike. */
const asText = ({ columns, ...table }: PackagedTable): PackagedTable => ({
  ...table,
  columns: columns.map(column => ({ ...column, sqlType: column.sqlType.replace('JSON', 'VARCHAR') })),
})

/**
 * Returns the names of the newest version's tables, spelled as in packages. DuckDB's own views would read the catalog's
 * whole database.
 */
async function tablesOf({ database, catalogTable }: Lake): Promise<string[]> {
  const rows = await database.rows<{ name: string }>(`
    SELECT concat_ws('.', nullif(schema_name, 'main'), table_name) AS name
    FROM ${catalogTable('ducklake_table')} t JOIN ${catalogTable('ducklake_schema')} s ON s.schema_id = t.schema_id
    WHERE t.end_snapshot IS NULL AND s.end_snapshot IS NULL AND schema_name IN (${SCHEMAS.map(quoteText).join(', ')})`)
  return rows.map(({ name }) => name)
}

/** Returns the watermark; null if the lake must be filled. */
async function storedWatermark(lake: Lake): Promise<TargetWatermark | null> {
  const isFilled = (await tablesOf(lake)).includes(WATERMARK_TABLE)
  return isFilled ? readStoredWatermark(lake.database, WATERMARK) : null
}

/** Drops all tables, so that no earlier statistics, columns or files remain, and creates the parts of every lake. */
async function beginRefill(lake: Lake): Promise<void> {
  const { database } = lake
  for (const [name, value] of Object.entries(OPTIONS))
    await database.run(`CALL ${ATTACHED}.set_option('${name}', '${value}')`)
  for (const name of await tablesOf(lake)) await database.run(`DROP TABLE ${attachedTable({ name })}`)
  for (const schema of SCHEMAS) await database.run(`CREATE SCHEMA IF NOT EXISTS ${ATTACHED}.${schema}`)
  await database.run(`
    CREATE TABLE ${WATERMARK} (owner VARCHAR, epoch VARCHAR, seq BIGINT, publication_id VARCHAR, policy VARCHAR, as_of TIMESTAMPTZ, backfill_unfinished BOOLEAN);
    COMMENT ON TABLE ${WATERMARK} IS 'The last publication: its rows are those of the warehouse at as_of. Written by convohouse'`)
}

async function storeLakeWatermark({ database }: Lake, watermark: TargetWatermark): Promise<void> {
  await database.run(`DELETE FROM ${WATERMARK}`)
  await database.run(`INSERT INTO ${WATERMARK} VALUES (${watermarkValues(watermark)})`)
}

async function writeVersion(lake: Lake, { kind, base, erases, tables, watermark }: Package): Promise<void> {
  const begunMs = Date.now()
  const { database } = lake
  await widenRanges(lake)
  await exclusively(lake, async () => {
    expectBase(placeOf(lake.target), await storedWatermark(lake), base)
    if (kind === 'refill') await beginRefill(lake)
    for await (const table of tables) {
      const into = attachedTable(table)
      if (kind === 'refill') await createTable(database, asText(table))
      else await deleteRows(database, into, table)
      await insertRows(database, into, table)
    }
    await storeLakeWatermark(lake, watermark)
    await describeVersion(lake, kind, { asOf: watermark.asOf, ...(erases && { erases }) })
    await lake.data.sync(begunMs)
  })
}

/** @throws EXTENSION_UNAVAILABLE */
export async function openDuckLake(
  database: TargetDatabase,
  target: LakeTarget,
  extensions: ExtensionPlaces,
): Promise<OpenTarget> {
  await loadExtensions(database, target, extensions)
  const present = { target, creates: false }
  return {
    watermark: () => connectedLake(database, present, lake => exclusively(lake, () => storedWatermark(lake))),
    async apply(contents) {
      await connectedLake(database, { target, creates: true }, lake => writeVersion(lake, contents))
      if (contents.erases) await connectedLake(database, present, completeErasure)
    },
    async sums(tables) {
      const sums = await connectedLake(database, present, lake =>
        exclusively(lake, () =>
          sumsOf(database, tables, { rowsFrom: attachedTable, stored: ({ name }) => quoteName(name) }),
        ),
      )
      return sums ?? {}
    },
    maintain: () => maintain(database, target),
  }
}

/**
 * Tests that the catalog, and data in S3, can be reached and written, and that only convohouse has written the lake.
 * @returns its findings, for people: `12 versions, the newest of 140 files`
 * @throws TARGET_UNUSABLE, TARGET_LOCKED, SECRET_MISSING, EXTENSION_UNAVAILABLE
 */
export async function probeLake(
  database: TargetDatabase,
  target: LakeTarget,
  extensions: ExtensionPlaces,
): Promise<string> {
  await loadExtensions(database, target, extensions)
  const found = await connectedLake(database, { target, creates: false }, async lake => {
    await exclusively(lake, async () => {})
    const { catalogTable } = lake
    const [row] = await database.rows<{ versions: string; files: string }>(`
      SELECT (SELECT count(*) FROM ${catalogTable('ducklake_snapshot')})::VARCHAR AS versions,
        ((SELECT count(*) FROM ${catalogTable('ducklake_data_file')} WHERE end_snapshot IS NULL)
          + (SELECT count(*) FROM ${catalogTable('ducklake_delete_file')} WHERE end_snapshot IS NULL))::VARCHAR AS files`)
    return `${counted(Number(row!.versions), 'version')}, the newest of ${counted(Number(row!.files), 'file')}`
  })
  const contents = found ?? `the first publication creates ${placeOf(target)}`
  if (target.s3 === null) return contents
  const { probing } = await import('../../s3/objects.ts')
  const server = await probing(target.s3, async (objects, name) => void (await objects.put(name, 'probe')))
  return `${contents}; data in ${target.data} of ${server}`
}
