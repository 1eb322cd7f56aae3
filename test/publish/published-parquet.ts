// Targets `parquet` of tests, and the data that a reader finds in them.
import { readdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import type { ParquetTarget } from '../../src/config/targets/parquet.ts'
import { KEEP } from './published.ts'

/** Ids of agents that are hard to name a folder after. */
export const ODD_IDS = [
  'x'.repeat(200),
  'ä'.repeat(40),
  'null',
  'NULL',
  '..',
  '.',
  'a/b',
  '100%',
  '%2F',
  'a=b',
  "it's *",
  '~',
]

let targets = 0

/** Returns a target that no other test uses. */
export function newParquet(home: string, settings: Partial<ParquetTarget> = {}): ParquetTarget {
  const name = `p${++targets}`
  return {
    name,
    type: 'parquet',
    path: join(home, name),
    pii: KEEP,
    rows: null,
    s3: null,
    partitionBy: ['month'],
    ...settings,
  }
}

/** Returns the folder to which `current` points. */
export const currentFolder = ({ path }: ParquetTarget): Promise<string> => realpath(join(path, 'current'))

/** Returns the Parquet files below a folder, sorted. */
export async function filesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true })
  return names.filter(name => name.endsWith('.parquet')).sort()
}

/** Returns the SQL of a table below the folder of a version. */
export const parquetOf = (folder: string, table: string): string =>
  `read_parquet('${folder}/${table.replace('.', '/')}/**/*.parquet', hive_partitioning = true)`

/** Runs SQL about files and returns its rows. */
export async function queryFiles(sql: string): Promise<unknown[][]> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
  const connection = await instance.connect()
  try {
    await connection.run(`SET TimeZone = 'UTC'`)
    return (await connection.runAndReadAll(sql)).getRowsJson()
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

/** Returns the rows of a table, as a reader of `current` sees them; `what` is the SELECT list. */
export const rowsOf = async (target: ParquetTarget, table: string, what: string): Promise<unknown[][]> =>
  queryFiles(`SELECT ${what} FROM ${parquetOf(await currentFolder(target), table)} ORDER BY ALL`)

/** True if a value of any file contains the text, in any version. */
export async function valuesContain(folder: string, text: string): Promise<boolean> {
  const files = (await filesIn(folder)).map(
    file => `SELECT contains(f::VARCHAR, '${text}') AS has FROM '${join(folder, file)}' f`,
  )
  const [row] = await queryFiles(`SELECT coalesce(bool_or(has), false) FROM (${files.join(' UNION ALL ')})`)
  return row![0] as boolean
}
