import { existsSync } from 'node:fs'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { runQuery } from '../../src/warehouse/query/query.ts'
import { openReader } from '../../src/warehouse/query/reader.ts'
import { warehouseFile } from '../../src/warehouse/warehouse-file.ts'
import { folderOfFile } from '../of-file.ts'
import { detachWithLog } from './temporary-warehouse.ts'

// Sorts 50 MB, which is more than the limit.
const LARGE = `SELECT count(*) FROM (SELECT hash(range) AS h, repeat('x', 40) || range AS text FROM range(1000000) ORDER BY h, text LIMIT 950000)`
const SMALL = { memoryLimit: '32MB', threads: 2 }

const home = await folderOfFile()

beforeAll(async () => {
  await (await openWarehouse({ home, memoryLimit: '256MB', threads: 2 })).close()
})

const spilt = async () => (await readdir(join(home, 'tmp'))).filter(name => name.endsWith('.spill'))

/** Runs the large query in a reader, and returns the folders that it spilled to. */
async function readLarge(): Promise<string[]> {
  const reader = await openReader({ file: warehouseFile(home), ...SMALL })
  try {
    const result = await runQuery({ connection: reader.connection, sql: LARGE, timeoutMs: 60_000 })
    for await (const batch of result.batches) expect(batch.columns).toEqual([[950_000n]])
    return await spilt()
  } finally {
    reader.close()
  }
}

describe('data that does not fit into memory', () => {
  it('is spilled to a separate folder, which is removed with its reader', async () => {
    const [one, other] = await Promise.all([readLarge(), readLarge()])
    expect(new Set([...one, ...other]).size).toBe(2)
    expect(await spilt()).toEqual([])
  })

  it('and was spilled by a killed process is removed by the next process that holds the warehouse', async () => {
    const left = ['warehouse.duckdb.spill', 'warehouse.duckdb.4711-abc.spill'].map(name => join(home, 'tmp', name))
    const others = join(home, 'tmp', 'warehouse.rebuilt.duckdb.spill')
    for (const folder of [...left, others]) {
      await mkdir(folder)
      await writeFile(join(folder, 'duckdb_temp_storage-0.tmp'), 'left')
    }
    await (await openWarehouse({ home, ...SMALL })).close()
    expect(left.filter(existsSync)).toEqual([])
    expect(existsSync(others)).toBe(true)
    await rm(others, { recursive: true })
  })

  it('since a killed process left a log of wide rows is still there once the warehouse is open', async () => {
    // DuckDB reserves 256 KB for each column of appended rows: 38 MB for each of these tables.
    const columns = Array.from({ length: 150 }, (_, index) => `md5((range * ${index + 1})::VARCHAR) AS c${index}`)
    const wide = (rows: number) => `SELECT range AS n, ${columns.join(', ')} FROM range(${rows})`
    const tables = ['wide1', 'wide2', 'wide3', 'wide4']
    const killed = await openWarehouse({ home, memoryLimit: '512MB', threads: 2 })
    for (const table of tables) {
      await killed.writer.run(`CREATE TABLE ${table} AS ${wide(0)}`)
      for (const part of ['<', '>='])
        await killed.writer.run(`INSERT INTO ${table} ${wide(1_000)} WHERE range ${part} 500`)
    }
    await detachWithLog(killed.writer)
    await killed.close()
    const { writer, close } = await openWarehouse({ home, memoryLimit: '100MB', threads: 2 })
    expect(await spilt()).toHaveLength(1)
    for (const table of tables) {
      const same = columns.map(column => column.replace(' AS ', ' = ').replace('range', 'n')).slice(-2)
      const [row] = await writer.rows(`SELECT count(*) FILTER (${same.join(' AND ')})::INT AS same FROM ${table}`)
      expect(row).toEqual({ same: 1_000 })
      await writer.run(`DROP TABLE ${table}`)
    }
    await close()
    expect(await spilt()).toEqual([])
  })

  it('causes an error of the query if it cannot be spilled', async () => {
    await rm(join(home, 'tmp'), { recursive: true })
    await writeFile(join(home, 'tmp'), 'no folder')
    await expect(readLarge()).rejects.toMatchObject({
      code: 'SQL_INVALID',
      hint: expect.stringContaining('memory limit') as string,
    })
  })
})
