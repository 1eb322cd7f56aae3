// Where the bytes of a warehouse file are: by table and by column.
import { DuckDBInstance } from '@duckdb/node-api'
import { quoteText } from '../../../src/catalog/layout.ts'
import { rounded } from '../measure.ts'

/** Number of tables and of columns that are printed, largest first. */
const TABLES = 12
const COLUMNS = 16

/** Usable bytes of a block; the rest is its checksum. */
const BLOCK_BYTES = 262_136

interface Table {
  /** With its schema, if that is not `main`. */
  name: string
  rows: string
}

const TABLES_OF_FILE = `SELECT CASE schema_name WHEN 'main' THEN '' ELSE schema_name || '.' END || table_name AS name, estimated_size::VARCHAR AS rows
  FROM duckdb_tables() WHERE NOT internal`

/**
 * DuckDB reports the place of a segment, not its size: a segment ends where the next one in its block begins, or with the block. Blocks that
 * only one segment uses (long strings) are listed beside it.
 */
const segmentsOf = (tables: readonly Table[]) => `WITH segments AS (${tables
  .map(
    ({ name }) =>
      `SELECT ${quoteText(name)} AS table_name, column_name, segment_type, compression, block_id, block_offset, additional_block_ids
       FROM pragma_storage_info(${quoteText(name)}) WHERE persistent AND block_id >= 0`,
  )
  .join(' UNION ALL ')}),
  places AS (SELECT block_id, block_offset, coalesce(lead(block_offset) OVER (PARTITION BY block_id ORDER BY block_offset), ${BLOCK_BYTES})
    - block_offset AS bytes FROM (SELECT DISTINCT block_id, block_offset FROM segments)),
  shares AS (SELECT s.*, p.bytes / count(*) OVER (PARTITION BY block_id, block_offset) AS bytes
    FROM segments s JOIN places p USING (block_id, block_offset))
  SELECT table_name, column_name, compression, sum(bytes + ${BLOCK_BYTES} * len(additional_block_ids)) AS bytes FROM shares GROUP BY ALL`

/** Prints the used and free space of the file, the largest tables and the largest columns, in MB. The file must not be open elsewhere. */
export async function printStorage(file: string): Promise<void> {
  const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY' })
  const connection = await instance.connect()
  const rows = async (sql: string) => (await connection.runAndReadAll(sql)).getRowObjectsJson()
  try {
    const [size] = await rows('SELECT block_size, total_blocks, used_blocks, free_blocks FROM pragma_database_size()')
    const tables = (await rows(TABLES_OF_FILE)) as unknown as Table[]
    const segments = segmentsOf(tables)
    const byTable = await rows(
      `SELECT table_name, (sum(bytes) / 1e6)::DOUBLE AS mb FROM (${segments}) GROUP BY ALL ORDER BY mb DESC LIMIT ${TABLES}`,
    )
    const byColumn =
      await rows(`SELECT table_name || '.' || column_name AS name, string_agg(DISTINCT compression, ' ') AS compression,
      (sum(bytes) / 1e6)::DOUBLE AS mb FROM (${segments}) GROUP BY ALL ORDER BY mb DESC LIMIT ${COLUMNS}`)
    const mb = (blocks: unknown) => rounded((Number(blocks) * Number(size!.block_size)) / 1e6, 1)
    console.log(
      JSON.stringify({ fileMb: mb(size!.total_blocks), usedMb: mb(size!.used_blocks), freeMb: mb(size!.free_blocks) }),
    )
    const rowsOf = new Map<unknown, number>(tables.map(({ name, rows }) => [name, Number(rows)]))
    for (const { table_name: table, mb } of byTable)
      console.log(JSON.stringify({ table, rows: rowsOf.get(table), mb: rounded(Number(mb)) }))
    for (const { name: column, mb, compression } of byColumn)
      console.log(JSON.stringify({ column, mb: rounded(Number(mb)), compression }))
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}
