// The source of DuckDB's extensions if no folder contains them.
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { expect, it } from 'vitest'
import { extensionPlaces, loadExtension } from '../../src/publish/target-database.ts'
import { statementsOn } from '../../src/warehouse/connection.ts'
import { temporaryFolder } from '../cli/cli-process.ts'

it('is the network, also in a data folder that has had none', async () => {
  const folder = await temporaryFolder()
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  // A folder replaces the network. DuckDB looks for the file only once it has a folder to store it.
  await connection.run(`SET custom_extension_repository = '${join(folder, 'repository')}'`)
  await expect(loadExtension(statementsOn(connection), 'fts', extensionPlaces(folder, null))).rejects.toMatchObject({
    code: 'EXTENSION_UNAVAILABLE',
    message: expect.stringMatching(/no access to the file.*repository.*fts\.duckdb_extension/),
  })
})
