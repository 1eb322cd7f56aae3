// The files of tables in a target `parquet`: changed partitions are written, the others are kept. A folder and S3
// differ in how they store a file (`FileStore`).
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { quoteName, quoteText } from '../../../catalog/layout.ts'
import type { PartitionColumn } from '../../../config/targets/parquet.ts'
import { type Package, type PackagedTable, type Sums, sumOf } from '../../package.ts'
import { PUBLISHED_FORMAT, pandasOption, selectNothing } from '../../parquet-columns.ts'
import { DEFAULT_PARTITION } from '../../partitions.ts'
import type { TargetDatabase } from '../../target-database.ts'
import type { SummedTable } from '../../target-port.ts'
import type { TargetWatermark } from '../../watermark.ts'

export interface TableFile {
  path: string
  /** Example: `conversations/month=2026-11`. */
  folder: string
  /** True for the file without rows that gives a partitioned table its columns. */
  isEmpty: boolean
}

export interface FileStore {
  /** Keeps a file of the previous state. */
  keep(file: TableFile): Promise<void>
  /** Adds local files as the parts of a partition. */
  add(folder: string, files: readonly string[], isEmpty: boolean): Promise<void>
}

interface Writing {
  database: TargetDatabase
  store: FileStore
  /** Folder for files that the package does not contain. */
  spillFolder: string
}

/** Returns the table of a folder: `marts.fct_conversations` for `marts/fct_conversations/month=2026-11`. */
export const tableOf = (folder: string): string =>
  folder
    .split('/')
    .filter(segment => !segment.includes('='))
    .join('.')

/** A partition with more files is merged unless they have many rows on average, because a reader opens each file. */
const FEW_FILES = 4
const MANY_ROWS = 1_000

const isFragmented = (files: readonly string[], rowCount: number): boolean =>
  files.length > FEW_FILES && rowCount < files.length * MANY_ROWS

/** Returns the SQL of the rows of files. */
const rowsOfFiles = (files: readonly string[]): string =>
  `FROM read_parquet([${files.map(quoteText).join(', ')}], hive_partitioning = false)`

let counter = 0

/** Writes the rows of `select`. @returns the file */
async function writeFile(
  { database, spillFolder }: Writing,
  { columns }: PackagedTable,
  select: string,
): Promise<string> {
  counter += 1
  await mkdir(spillFolder, { recursive: true })
  const file = join(spillFolder, `table-${counter}.parquet`)
  await database.run(`COPY (${select}) TO ${quoteText(file)} (${PUBLISHED_FORMAT}, ${pandasOption(columns)})`)
  return file
}

/** Returns the folder of the empty file. Any value gives the partition columns a type. */
const emptyFolder = (by: readonly PartitionColumn[], { asOf }: TargetWatermark): string[] =>
  by.map(column => (column === 'month' ? `month=${asOf.slice(0, 7)}` : `${column}=none`))

/**
 * Writes a table's changed partitions, or the whole table if it has no partitions, and keeps the others. Adds an empty
 * file if there is none, since readers take the columns from it, and some take the type of `month` from a folder.
 */
async function writeTable(
  writing: Writing,
  { table, before, watermark }: { table: PackagedTable; before: readonly TableFile[]; watermark: TargetWatermark },
): Promise<void> {
  const { store } = writing
  const { rows, rowCount, partitions, isWhole } = table
  const { by, written } = partitions ?? { by: [], written: [{ folder: '', rows, rowCount }] }
  const inTable = (...folders: string[]) => join(table.name.replace('.', '/'), ...folders)
  const replaced = new Set(written.map(({ folder }) => inTable(folder)))
  const folders: string[] = []
  for (const file of before.filter(({ folder, isEmpty }) => !isWhole && !isEmpty && !replaced.has(folder))) {
    await store.keep(file)
    folders.push(file.folder)
  }
  for (const { folder, rows: files, rowCount: count } of written.filter(one => one.rows.length > 0)) {
    const taken = isFragmented(files, count) ? [await writeFile(writing, table, rowsOfFiles(files))] : files
    await store.add(inTable(folder), taken, false)
    folders.push(inTable(folder))
  }
  if (folders.some(folder => !folder.includes(DEFAULT_PARTITION))) return
  const file = await writeFile(writing, table, selectNothing(table.columns))
  await store.add(inTable(...emptyFolder(by, watermark)), [file], by.length > 0)
}

/** Writes the tables of the package, and keeps the files of all others. `before`: files of the previous state; none for a refill. */
export async function writeTables(
  writing: Writing,
  before: readonly TableFile[],
  { tables, watermark }: Package,
): Promise<void> {
  const packaged = new Set<string>()
  for await (const table of tables) {
    packaged.add(table.name)
    const own = before.filter(({ folder }) => tableOf(folder) === table.name)
    await writeTable(writing, { table, before: own, watermark })
  }
  for (const file of before) if (!packaged.has(tableOf(file.folder))) await writing.store.keep(file)
}

/** SQL of a column as a reader of partitions sees it: the agent's id comes from the name of its folder. */
const readValue = ({ name }: { name: string }, files: readonly string[]): string =>
  name === 'agent_id' && files[0]!.includes('/agent=') ? `coalesce(agent, '')` : quoteName(name)

/** Reads the sums back from the files. `files`: paths or URLs that DuckDB can read, by table. */
export async function sumsOfFiles(
  database: TargetDatabase,
  tables: readonly SummedTable[],
  files: ReadonlyMap<string, readonly string[]>,
): Promise<Sums> {
  const sums: Sums = {}
  for (const { name, columns } of tables) {
    const own = files.get(name)
    if (!own) continue
    const values = columns.map(column => readValue(column, own))
    const from = `read_parquet([${own.map(quoteText).join(', ')}], hive_partitioning = true, hive_types_autocast = false)`
    sums[name] = await sumOf(database, { values, from })
  }
  return sums
}
