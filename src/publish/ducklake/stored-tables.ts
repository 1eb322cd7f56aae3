// The tables of a lake: those that publications have created, and the statements that bring them up to date. A table is never dropped, so
// that its earlier versions and changes can be read.
import { stat } from 'node:fs/promises'
import { quoteName, quoteText } from '../../catalog/layout.ts'
import { catalogText } from '../../config/lake-target.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { ATTACHED, attachedTable, commentsOf, createTable, insertRows } from '../attached.ts'
import type { PackagedTable } from '../package.ts'
import { readStoredWatermark, type TargetWatermark, WATERMARK_TABLE, watermarkValues } from '../watermark.ts'
import { exclusively, type Lake } from './lake.ts'
import { describeMaintenance } from './versions.ts'

/** Table of the names of the tables that publications have created: no other table is ever touched. */
const TABLES_TABLE = '_publication_tables'

const WATERMARK = `${ATTACHED}.main.${WATERMARK_TABLE}`
const TABLES = `${ATTACHED}.main.${TABLES_TABLE}`

/** Level 3 of zstd takes a seventh longer, for 3 % less. */
const COMPRESSION = { parquet_compression: 'zstd', parquet_compression_level: '1' }

/**
 * Rows of a row group, of which each thread that writes holds one: with DuckDB's default, 122,880 rows of any size, writing wide rows needs more memory
 * than there is. (A limit in bytes would stop writers with DuckDB's own settings.)
 */
const ROW_GROUP_ROWS = 8_192

/** Of tables whose rows are small in a package, in a refill that inserts them: a delta, which searches all keys, takes less time. */
const LARGE_ROW_GROUP = { rows: 61_440, mostBytesOfRow: 64 }

/** What engines read alike: UTC is in the type of a time, and JSON is text. */
export const lakeType = (sqlType: string): string =>
  sqlType.replace(/^JSON/, 'VARCHAR').replace(/^TIMESTAMP(?! WITH)/, 'TIMESTAMP WITH TIME ZONE')

export interface StoredTables {
  /** Names of the tables of the lake. */
  tables: ReadonlySet<string>
  /** Names of the tables that publications have created. */
  own: ReadonlySet<string>
  /** Names of the tables that their owner has partitioned or sorted. */
  arranged: ReadonlySet<string>
  /** Null: the lake must be filled. */
  watermark: TargetWatermark | null
}

const foreign = ({ target }: Lake, name: string): ConvohouseError =>
  new ConvohouseError('TARGET_UNUSABLE', {
    what: `${catalogText(target)}: the table ${name} was not written by a publication, so it is not touched.`,
    hint: 'Give the target a lake of its own: another catalog, or another schema in PostgreSQL, and another folder for data.',
  })

/** Types of the columns of a table. */
export async function columnTypes(
  { database }: Lake,
  table: Pick<PackagedTable, 'name'>,
): Promise<ReadonlyMap<string, string>> {
  const columns = await database.rows<Record<'column_name' | 'column_type', string>>(`DESCRIBE ${attachedTable(table)}`)
  return new Map(columns.map(({ column_name, column_type }) => [column_name, column_type]))
}

/** Names of the tables that publications have created. */
export async function ownTables({ database }: Lake): Promise<string[]> {
  const rows = await database.rows<{ name: string }>(`SELECT name FROM ${TABLES}`)
  return rows.map(({ name }) => name)
}

/** The schema and the name of a table, which are also the folders of its files. */
export function placeOf(table: string): [schema: string, name: string] {
  const [first, second] = table.split('.') as [string, string?]
  return second === undefined ? ['main', first] : [first, second]
}

/** What the catalog's own tables say. */
type Catalog = Pick<StoredTables, 'tables' | 'arranged'>

/**
 * DuckDB's views of tables would read the whole database of a catalog in PostgreSQL. Not to be called in a transaction that writes the lake:
 * SQLite's lock of this read would hold up its commit.
 */
async function readCatalog({ database, catalogTable }: Lake): Promise<Catalog> {
  const isArranged = ['partition', 'sort'].map(
    kind => `t.table_id IN (SELECT table_id FROM ${catalogTable(`ducklake_${kind}_info`)} WHERE end_snapshot IS NULL)`,
  )
  const rows = await database.rows<{ name: string; arranged: boolean }>(`
    SELECT concat_ws('.', nullif(schema_name, 'main'), table_name) AS name, ${isArranged.join(' OR ')} AS arranged
    FROM ${catalogTable('ducklake_table')} t JOIN ${catalogTable('ducklake_schema')} s ON s.schema_id = t.schema_id
    WHERE t.end_snapshot IS NULL AND s.end_snapshot IS NULL AND schema_name IN ('main', 'marts', 'models')`)
  return {
    tables: new Set(rows.map(({ name }) => name)),
    arranged: new Set(rows.filter(({ arranged }) => arranged).map(({ name }) => name)),
  }
}

async function storedState(lake: Lake, catalog: Catalog): Promise<StoredTables> {
  const { tables } = catalog
  const [first] = tables
  if (first === undefined) return { ...catalog, own: new Set(), watermark: null }
  if (!tables.has(WATERMARK_TABLE) || !tables.has(TABLES_TABLE)) throw foreign(lake, first)
  if (!(await columnTypes(lake, { name: WATERMARK_TABLE })).has('owner')) throw foreign(lake, WATERMARK_TABLE)
  const own = new Set(await ownTables(lake))
  // Somebody has dropped a table: a refill creates it.
  const isWhole = [...own].every(name => tables.has(name))
  return { ...catalog, own, watermark: isWhole ? await readStoredWatermark(lake.database, WATERMARK) : null }
}

/**
 * Runs `work` in a transaction that no other publication to the lake runs beside.
 * @throws TARGET_LOCKED; TARGET_UNUSABLE if the lake has tables and no publication has created any
 */
export async function withStoredTables<T>(lake: Lake, work: (stored: StoredTables) => Promise<T>): Promise<T> {
  const catalog = await readCatalog(lake)
  return exclusively(lake, async () => work(await storedState(lake, catalog)))
}

async function setOptions({ database }: Lake, options: Record<string, string>): Promise<void> {
  for (const [name, value] of Object.entries(options))
    await database.run(`CALL ${ATTACHED}.set_option('${name}', '${value}')`)
}

const setRowGroups = (lake: Lake, rows: number): Promise<void> =>
  setOptions(lake, { parquet_row_group_size: String(rows) })

/** Inserts the rows of a refill, in large row groups if they are small. */
export async function insertInRowGroups(lake: Lake, table: PackagedTable): Promise<void> {
  const sizes = await Promise.all(table.rows.map(async file => (await stat(file)).size))
  const isSmall = sizes.reduce((sum, size) => sum + size, 0) <= table.rowCount * LARGE_ROW_GROUP.mostBytesOfRow
  if (isSmall) await setRowGroups(lake, LARGE_ROW_GROUP.rows)
  await insertRows(lake.database, attachedTable(table), table)
  if (isSmall) await setRowGroups(lake, ROW_GROUP_ROWS)
}

/** Creates what every lake has. */
export async function prepareLake(lake: Lake, { tables }: StoredTables): Promise<void> {
  const { database } = lake
  await setOptions(lake, COMPRESSION)
  await setRowGroups(lake, ROW_GROUP_ROWS)
  for (const schema of ['marts', 'models']) await database.run(`CREATE SCHEMA IF NOT EXISTS ${ATTACHED}.${schema}`)
  if (tables.has(WATERMARK_TABLE)) return
  await database.run(`
    CREATE TABLE ${WATERMARK} (owner VARCHAR, epoch VARCHAR, seq BIGINT, publication_id VARCHAR, policy VARCHAR, as_of TIMESTAMPTZ, held VARCHAR[]);
    COMMENT ON TABLE ${WATERMARK} IS 'The last publication: its rows are those of the warehouse at as_of. Written by convohouse';
    CREATE TABLE ${TABLES} (name VARCHAR);
    COMMENT ON TABLE ${TABLES} IS 'The tables that publications have created. Written by convohouse'`)
}

/**
 * Statements that give a table the columns of the package; none: it has them, and may have more. A column of another type is replaced: the rows are
 * written again anyway, and earlier versions keep the earlier column.
 */
export function alteredColumns(table: PackagedTable, stored: ReadonlyMap<string, string>): string[] {
  const place = attachedTable(table)
  return table.columns.flatMap(({ name, sqlType, about }) => {
    const found = stored.get(name)
    if (found === lakeType(sqlType)) return []
    return [
      ...(found === undefined ? [] : [`ALTER TABLE ${place} DROP COLUMN ${quoteName(name)}`]),
      `ALTER TABLE ${place} ADD COLUMN ${quoteName(name)} ${lakeType(sqlType)}`,
      `COMMENT ON COLUMN ${place}.${quoteName(name)} IS ${quoteText(about)}`,
    ]
  })
}

/** Identifies a comment of a table, or of a column of it. */
const commentKey = (table: string, column: string | null, comment: string): string =>
  JSON.stringify([table, column, comment])

/** The comments of tables and columns, as `commentKey`. As `readCatalog`, not to be called in a transaction that writes the lake. */
export async function storedComments({ database, catalogTable }: Lake): Promise<ReadonlySet<string>> {
  const [tags, columnTags, columns] = ['ducklake_tag', 'ducklake_column_tag', 'ducklake_column'].map(catalogTable)
  const rows = await database.rows<{ name: string; column: string | null; comment: string }>(`
    SELECT concat_ws('.', nullif(schema_name, 'main'), table_name) AS name, tag.name AS "column", tag.value AS comment
    FROM (
      SELECT object_id AS table_id, NULL::VARCHAR AS name, value FROM ${tags} WHERE key = 'comment' AND end_snapshot IS NULL
      UNION ALL
      SELECT g.table_id, c.column_name, g.value FROM ${columnTags} g JOIN ${columns} c ON c.table_id = g.table_id AND c.column_id = g.column_id
      WHERE g.key = 'comment' AND g.end_snapshot IS NULL AND c.end_snapshot IS NULL
    ) tag
    JOIN ${catalogTable('ducklake_table')} t ON t.table_id = tag.table_id JOIN ${catalogTable('ducklake_schema')} s ON s.schema_id = t.schema_id
    WHERE t.end_snapshot IS NULL AND s.end_snapshot IS NULL`)
  return new Set(rows.map(({ name, column, comment }) => commentKey(name, column, comment)))
}

/**
 * Creates a table, or brings its columns and comments up to date. `comments`: those of the lake (`storedComments`).
 * @throws TARGET_UNUSABLE if somebody else has created it
 */
export async function bringUpToDate(
  lake: Lake,
  { tables, own, comments }: StoredTables & { comments: ReadonlySet<string> },
  table: PackagedTable,
): Promise<void> {
  const { database } = lake
  const { name, about, columns } = table
  if (!tables.has(name)) return createTable(database, table, lakeType)
  if (!own.has(name)) throw foreign(lake, name)
  const statements = alteredColumns(table, await columnTypes(lake, table))
  const isDescribed = [{ name: null, about }, ...columns].every(of => comments.has(commentKey(name, of.name, of.about)))
  if (!isDescribed) statements.push(...commentsOf(table))
  if (statements.length > 0) await database.run(statements.join(';\n'))
}

/** Records the tables that a refill has created, in one statement: each would write a file. */
export async function recordCreated(
  { database }: Lake,
  { own }: StoredTables,
  written: ReadonlySet<string>,
): Promise<void> {
  const names = [...written].filter(name => !own.has(name))
  if (names.length > 0)
    await database.run(`INSERT INTO ${TABLES} VALUES ${names.map(name => `(${quoteText(name)})`).join(', ')}`)
}

/** Empties the tables that the target no longer receives. */
export async function emptyRetired(
  { database }: Lake,
  { own, tables }: StoredTables,
  received: ReadonlySet<string>,
): Promise<void> {
  for (const name of own)
    if (!received.has(name) && tables.has(name)) await database.run(`DELETE FROM ${attachedTable({ name })}`)
}

/**
 * Forgets tables that their owner has dropped, and that the refill before has not created again: they would be missed for ever. To be called when
 * an erasure has removed what killed publications left of them. @returns the names of the others
 */
export const forgetDropped = (lake: Lake): Promise<string[]> =>
  withStoredTables(lake, async ({ own, tables }) => {
    const dropped = [...own].filter(name => !tables.has(name))
    if (dropped.length > 0) {
      await lake.database.run(`DELETE FROM ${TABLES} WHERE name IN (${dropped.map(quoteText).join(', ')})`)
      await describeMaintenance(lake, { erases: true })
    }
    return [...own].filter(name => tables.has(name))
  })

/** The rows of the table are replaced, not the table: each new table would be a new schema for readers. */
export async function storeLakeWatermark({ database }: Lake, watermark: TargetWatermark): Promise<void> {
  await database.run(`DELETE FROM ${WATERMARK}`)
  await database.run(`INSERT INTO ${WATERMARK} VALUES (${watermarkValues(watermark)})`)
}
