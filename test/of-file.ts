// What all tests of a file share. A file calls these functions at its top level.
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { afterAll } from 'vitest'
import { temporaryFolder } from './scene.ts'

/** Returns a folder that is removed after the file. */
export async function folderOfFile(): Promise<string> {
  const { folder, remove } = await temporaryFolder()
  afterAll(remove)
  return folder
}

/** Returns a connection to a database in memory. */
export async function databaseOfFile(): Promise<DuckDBConnection> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
  const connection = await instance.connect()
  afterAll(() => {
    connection.closeSync()
    instance.closeSync()
  })
  return connection
}
