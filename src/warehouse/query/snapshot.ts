// A published snapshot, opened for queries: read-only, without access to files and network, with locked settings, in UTC.
//
//   snapshot   the published file, attached READ_ONLY: the default database of queries with access to personal data
//   memory     views on those columns of it that hold no personal data: the default database of other queries
import { mkdir } from 'node:fs/promises'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { quotedTable, quoteName, quoteText } from '../../catalog/layout.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { messageOf } from '../fault.ts'
import { readKnownNames } from './guard/known-names.ts'
import type { QueryAccess } from './http/handler.ts'

/** The columns that hold no personal data, by table; those of marts and models have a schema. Others are invisible. */
export type PlainColumns = Readonly<Record<string, readonly string[]>>

export interface SnapshotSettings {
  file: string
  /** Syntax as in DuckDB: `1GB`. */
  memoryLimit: string
  threads: number
  /** Folder for spill files, which is created. */
  spillFolder: string
  /** Bound of the spill files, as `memoryLimit`. */
  maxSpill: string
  /** The folder that `copyIn` may write to; null if none. */
  scratch: string | null
  plainColumns: PlainColumns
}

export interface OpenSnapshot {
  /** Opens a connection to the file itself, for our own SQL. */
  connect(): Promise<DuckDBConnection>
  /** Opens a connection for the SQL of a caller, with or without access to personal data. */
  all(): Promise<QueryAccess>
  plain(): Promise<QueryAccess>
}

/** @throws TARGET_UNUSABLE if the file is missing or cannot be opened */
export async function openSnapshot(settings: SnapshotSettings): Promise<OpenSnapshot> {
  const { file, memoryLimit, threads, spillFolder, maxSpill, scratch, plainColumns } = settings
  await mkdir(spillFolder, { recursive: true, mode: 0o700 })
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: memoryLimit,
    threads: String(threads),
    temp_directory: spillFolder,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  })
  const first = await instance.connect()
  await first.run(`ATTACH ${quoteText(file)} AS snapshot (READ_ONLY)`).catch(cause => {
    throw new ConvohouseError('TARGET_UNUSABLE', {
      what: `The snapshot ${file} cannot be opened: ${messageOf(cause).split('\n')[0]}`,
      hint: 'Run `convohouse publish`, which writes it.',
      cause,
    })
  })
  await first.run("SET GLOBAL TimeZone = 'UTC'")
  // As an option of the instance it has no effect (DuckDB 1.5.5).
  await first.run(`SET max_temp_directory_size = ${quoteText(maxSpill)}`)
  if (scratch !== null) await first.run(`SET allowed_directories = [${quoteText(scratch)}]`)
  await first.run('SET enable_external_access = false')
  await first.run('SET lock_configuration = true')

  const connect = async () => {
    const connection = await instance.connect()
    await connection.run('USE snapshot')
    return connection
  }
  const names = connect().then(connection => readKnownNames(connection, false))
  let partialNames: typeof names | undefined
  return {
    connect,
    all: async () => ({ rules: { names: await names }, connection: await connect() }),
    async plain() {
      partialNames ??= createViews(first, plainColumns).then(() => readKnownNames(first, true))
      return { rules: { names: await partialNames }, connection: await instance.connect() }
    },
  }
}

/** Creates a view for each table of the file that has such columns. */
async function createViews(connection: DuckDBConnection, plain: PlainColumns): Promise<void> {
  const reader = await connection.runAndReadAll(`SELECT schema_name, table_name, list(column_name ORDER BY column_index)
    FROM duckdb_columns() WHERE database_name = 'snapshot' AND NOT internal GROUP BY ALL`)
  const statements = ['CREATE SCHEMA IF NOT EXISTS marts', 'CREATE SCHEMA IF NOT EXISTS models']
  for (const [schema, table, columns] of reader.getRowsJson() as [string, string, string[]][]) {
    const name = schema === 'main' ? table : `${schema}.${table}`
    const visible = Object.hasOwn(plain, name) ? columns.filter(column => plain[name]!.includes(column)) : []
    if (visible.length === 0) continue
    const from = `snapshot.${quoteName(schema)}.${quoteName(table)}`
    statements.push(`CREATE VIEW ${quotedTable(name)} AS SELECT ${visible.map(quoteName).join(', ')} FROM ${from}`)
  }
  await connection.run(statements.join(';\n'))
}
