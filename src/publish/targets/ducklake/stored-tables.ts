// The tables of a lake. A refill replaces all of them, so that no statistics, columns or files of earlier ones are left in its version.
import { quoteText } from '../../../catalog/layout.ts'
import { ATTACHED, attachedTable } from '../../attached.ts'
import { readStoredWatermark, type TargetWatermark, WATERMARK_TABLE, watermarkValues } from '../../watermark.ts'
import { type Lake, SCHEMAS } from './lake.ts'

const WATERMARK = `${ATTACHED}.main.${WATERMARK_TABLE}`

/**
 * Each thread that writes holds a row group: DuckDB's default, 122,880 rows of any size, needs more memory for wide rows than there is.
 * Level 3 of zstd takes a seventh longer, for 3 % less.
 */
const OPTIONS = { parquet_compression: 'zstd', parquet_compression_level: '1', parquet_row_group_size: '8192' }

/** Types that engines read alike: UTC is in the type of a time, and JSON is text. */
export const lakeType = (sqlType: string): string =>
  sqlType.replace(/^JSON/, 'VARCHAR').replace(/^TIMESTAMP(?! WITH)/, 'TIMESTAMP WITH TIME ZONE')

/** Names of the tables of the newest version, as packages have them. DuckDB's views of tables would read the whole database of the catalog. */
async function tablesOf({ database, catalogTable }: Lake): Promise<string[]> {
  const rows = await database.rows<{ name: string }>(`
    SELECT concat_ws('.', nullif(schema_name, 'main'), table_name) AS name
    FROM ${catalogTable('ducklake_table')} t JOIN ${catalogTable('ducklake_schema')} s ON s.schema_id = t.schema_id
    WHERE t.end_snapshot IS NULL AND s.end_snapshot IS NULL AND schema_name IN (${SCHEMAS.map(quoteText).join(', ')})`)
  return rows.map(({ name }) => name)
}

/** Returns the watermark; null: the lake must be filled. */
export async function storedWatermark(lake: Lake): Promise<TargetWatermark | null> {
  const isFilled = (await tablesOf(lake)).includes(WATERMARK_TABLE)
  return isFilled ? readStoredWatermark(lake.database, WATERMARK) : null
}

/** Drops all tables, and sets up what every lake has. */
export async function beginRefill(lake: Lake): Promise<void> {
  const { database } = lake
  for (const [name, value] of Object.entries(OPTIONS))
    await database.run(`CALL ${ATTACHED}.set_option('${name}', '${value}')`)
  for (const name of await tablesOf(lake)) await database.run(`DROP TABLE ${attachedTable({ name })}`)
  for (const schema of SCHEMAS) await database.run(`CREATE SCHEMA IF NOT EXISTS ${ATTACHED}.${schema}`)
  await database.run(`
    CREATE TABLE ${WATERMARK} (owner VARCHAR, epoch VARCHAR, seq BIGINT, publication_id VARCHAR, policy VARCHAR, as_of TIMESTAMPTZ);
    COMMENT ON TABLE ${WATERMARK} IS 'The last publication: its rows are those of the warehouse at as_of. Written by convohouse'`)
}

export async function storeLakeWatermark({ database }: Lake, watermark: TargetWatermark): Promise<void> {
  await database.run(`DELETE FROM ${WATERMARK}`)
  await database.run(`INSERT INTO ${WATERMARK} VALUES (${watermarkValues(watermark)})`)
}
