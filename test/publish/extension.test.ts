// Where DuckDB's extensions come from, if no folder has them.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { expect, it, onTestFinished } from 'vitest'
import { extensionPlaces, loadExtension } from '../../src/publish/target-database.ts'
import { statementsOn } from '../../src/warehouse/connection.ts'

it('is the network, also in a data folder that has had none', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'convohouse-extension-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  // In place of the network: a folder, in which DuckDB looks for the file only once it has a place for it.
  await connection.run(`SET custom_extension_repository = '${join(folder, 'repository')}'`)
  await expect(loadExtension(statementsOn(connection), 'fts', extensionPlaces(folder, null))).rejects.toMatchObject({
    code: 'EXTENSION_UNAVAILABLE',
    message: expect.stringMatching(/no access to the file.*repository.*fts\.duckdb_extension/),
  })
})
