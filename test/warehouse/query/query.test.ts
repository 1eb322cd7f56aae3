import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { LAYOUT } from '../../../src/warehouse/maintenance/create-tables.ts'
import { copyToParquet } from '../../../src/warehouse/query/parquet.ts'
import { type QueryRequest, runQuery } from '../../../src/warehouse/query/query.ts'
import { openReader } from '../../../src/warehouse/query/reader.ts'
import type { Cell, QueryResult } from '../../../src/warehouse/query/results.ts'
import { folderOfFile } from '../../of-file.ts'

const folder = await folderOfFile()
let instance: DuckDBInstance
let connection: DuckDBConnection

beforeAll(async () => {
  instance = await DuckDBInstance.create(join(folder, 'held.duckdb'))
  const setup = await instance.connect()
  await setup.run('CREATE TABLE numbers AS SELECT range AS n FROM range(10000)')
  setup.closeSync()
})
beforeEach(async () => {
  connection = await instance.connect()
})
afterEach(() => connection.closeSync())
afterAll(() => instance.closeSync())

const run = (sql: string, more: Partial<QueryRequest> = {}) => runQuery({ connection, sql, timeoutMs: 20_000, ...more })

async function rowsOf(result: QueryResult): Promise<Cell[][]> {
  const rows: Cell[][] = []
  for await (const batch of result.batches) {
    for (let row = 0; row < batch.rows; row++) rows.push(batch.columns.map(cells => cells[row]!))
  }
  return rows
}

/** Expects that no transaction was left open. */
const expectFree = () => expect(connection.run('BEGIN').then(() => connection.run('ROLLBACK'))).resolves.toBeDefined()

/** A query that never ends by itself. */
const ENDLESS = 'SELECT count(*) FROM numbers a, numbers b, numbers c WHERE a.n + b.n + c.n = 7'

describe('a query', () => {
  it('streams every row once, in batches of bounded size', async () => {
    const result = await run('SELECT n, n AS m FROM numbers ORDER BY n')
    const sizes: number[] = []
    let next = 0n
    for await (const { rows, columns } of result.batches) {
      sizes.push(rows)
      for (const n of columns[0]!) expect(n).toBe(next++)
    }
    expect(next).toBe(10_000n)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(2_048)
    expect(result.tally()).toEqual({ rows: 10_000, truncated: false })
    await expectFree()
  })

  it('returns at most maxRows, and reports whether there were more', async () => {
    const cut = await run('FROM numbers', { maxRows: 3_000 })
    expect(await rowsOf(cut)).toHaveLength(3_000)
    expect(cut.tally()).toEqual({ rows: 3_000, truncated: true })
    const whole = await run('FROM numbers', { maxRows: 10_000 })
    expect(await rowsOf(whole)).toHaveLength(10_000)
    expect(whole.tally()).toEqual({ rows: 10_000, truncated: false })
  })

  it('sees one state of the warehouse from its first row to its last', async () => {
    const result = await run('FROM numbers')
    const batches = result.batches[Symbol.asyncIterator]()
    let rows = (await batches.next()).value.rows
    const writer = await instance.connect()
    await writer.run('INSERT INTO numbers FROM range(5)')
    for (let next = await batches.next(); !next.done; next = await batches.next()) rows += next.value.rows
    await writer.run('DELETE FROM numbers WHERE rowid >= 10000')
    writer.closeSync()
    expect(rows).toBe(10_000)
  })

  it('ends at its timeout while DuckDB works', async () => {
    const started = Date.now()
    // What is left of 200 ms after a wait is a fraction.
    const answer = run(ENDLESS, { timeoutMs: 199.964_312 }).then(rowsOf)
    await expect(answer).rejects.toMatchObject({ code: 'QUERY_TIMEOUT', message: 'The query ran longer than 200 ms.' })
    expect(Date.now() - started).toBeLessThan(5_000)
    await expectFree()
  })

  it('ends at its timeout while nobody reads', async () => {
    const result = await run('FROM numbers', { timeoutMs: 600 })
    const batches = result.batches[Symbol.asyncIterator]()
    await batches.next()
    await new Promise(resolve => setTimeout(resolve, 800))
    await expectFree()
    await expect(batches.next()).rejects.toMatchObject({ code: 'QUERY_TIMEOUT' })
  })

  it('ends when it is aborted before it starts, while it works and between batches', async () => {
    const aborted = AbortSignal.abort()
    await expect(run('SELECT 1', { signal: aborted })).rejects.toMatchObject({ code: 'INTERRUPTED' })
    const signal = AbortSignal.timeout(200)
    await expect(run(ENDLESS, { signal }).then(rowsOf)).rejects.toMatchObject({ code: 'INTERRUPTED' })
    const later = new AbortController()
    const batches = (await run('FROM numbers', { signal: later.signal })).batches[Symbol.asyncIterator]()
    await batches.next()
    later.abort()
    await expect(batches.next()).rejects.toMatchObject({ code: 'INTERRUPTED' })
    await expectFree()
  })

  it('reports an error after some of its rows, so that no partial result passes as complete', async () => {
    const sql = "SELECT CASE WHEN range < 900000\n THEN 1 ELSE ('x' || range)::INTEGER END FROM range(1000000)"
    const result = await run(sql)
    let rows = 0
    const reading = (async () => {
      for await (const batch of result.batches) rows += batch.rows
    })()
    await expect(reading).rejects.toMatchObject({
      code: 'SQL_INVALID',
      message: expect.stringMatching(/Could not convert string 'x9\d+' to INT32\n\nLINE 2:/),
    })
    expect(rows).toBeGreaterThan(0)
    await expectFree()
  })

  it('frees its connection when it is refused, fails or is left early', async () => {
    await expect(run('DROP TABLE numbers')).rejects.toMatchObject({ code: 'SQL_REFUSED' })
    await expectFree()
    await expect(run("SELECT 'x'::INTEGER FROM numbers").then(rowsOf)).rejects.toMatchObject({ code: 'SQL_INVALID' })
    await expectFree()
    for await (const _ of (await run('FROM numbers')).batches) break
    await expectFree()
    await (await run('FROM numbers')).close()
    await expectFree()
  })
})

it('waits for an earlier one of the same connection, since a connection has one transaction at a time', async () => {
  const first = await run('SELECT 1 AS n')
  const others = [2, 3].map(async n => rowsOf(await run(`SELECT ${n} AS n`)))
  expect(await rowsOf(first)).toEqual([[1]])
  expect(await Promise.all(others)).toEqual([[[2]], [[3]]])
  await expectFree()
})

describe('a Parquet file', () => {
  it('contains the result of the query, and replaces the previous file atomically', async () => {
    const file = join(folder, "it's here.parquet")
    for (const rows of [10, 20]) {
      const sql = `FROM numbers LIMIT ${rows}; -- that is all`
      const written = await copyToParquet({ connection, sql, file, timeoutMs: 20_000 })
      expect(written).toEqual({ rows, bytes: (await readFile(file)).length })
    }
    const back = await connection.runAndReadAll(`SELECT count(*), max(n) FROM '${file.replaceAll("'", "''")}'`)
    expect(back.getRows()).toEqual([[20n, 19n]])
    await copyToParquet({ connection, sql: 'DESCRIBE numbers', file, timeoutMs: 20_000 })
  })

  it('is not written if the query fails, and the previous file stays', async () => {
    const file = join(folder, 'kept.parquet')
    await writeFile(file, 'before')
    const copy = (sql: string, timeoutMs = 20_000) => copyToParquet({ connection, sql, file, timeoutMs })
    await expect(copy('SELECT zz FROM numbers')).rejects.toThrow(/LINE 1: SELECT zz/)
    await expect(copy("SELECT ('x' || n)::INTEGER FROM numbers")).rejects.toMatchObject({ code: 'SQL_INVALID' })
    await expect(copy("SELECT 1) TO '/tmp/x' --")).rejects.toMatchObject({ code: 'SQL_INVALID' })
    await expect(copy('EXPLAIN SELECT 1')).rejects.toMatchObject({ code: 'SQL_REFUSED' })
    await expect(copy(ENDLESS, 200)).rejects.toMatchObject({ code: 'QUERY_TIMEOUT' })
    expect(await readFile(file, 'utf8')).toBe('before')
    expect((await readdir(folder)).filter(name => name.endsWith('.part'))).toEqual([])
    await expectFree()
  })
})

describe('a reader', () => {
  const options = { memoryLimit: '200MB', threads: 1 }
  let file: string

  beforeAll(async () => {
    file = join(folder, 'free.duckdb')
    const writer = await DuckDBInstance.create(file)
    const setup = await writer.connect()
    await setup.run(
      `CREATE TABLE t AS SELECT TIMESTAMPTZ '2026-01-01 00:00:00+00' AS moment; CREATE TABLE _layout AS SELECT ${LAYOUT} AS number`,
    )
    setup.closeSync()
    writer.closeSync()
    await writeFile(join(folder, 'secret.csv'), 'a\n1\n')
  })

  it('answers in the time zone UTC', async () => {
    const reader = await openReader({ file, ...options })
    const sql = 'SELECT moment::VARCHAR FROM t'
    const result = await runQuery({ connection: reader.connection, sql, timeoutMs: 9_000 })
    expect(await rowsOf(result)).toEqual([['2026-01-01 00:00:00+00']])
    reader.close()
  })

  it('has access to no file but the Parquet file that it writes', async () => {
    const target = join(folder, 'out.parquet')
    const { connection, close } = await openReader({ file, ...options, parquetFile: target })
    const sql = 'FROM t'
    await expect(copyToParquet({ connection, sql, file: target, timeoutMs: 9_000 })).resolves.toMatchObject({ rows: 1 })
    const other = copyToParquet({ connection, sql, file: join(folder, 'other.parquet'), timeoutMs: 9_000 })
    await expect(other).rejects.toMatchObject({ code: 'SQL_REFUSED' })
    // After the guard, the reader's settings are the second protection.
    for (const past of [`FROM '${join(folder, 'secret.csv')}'`, 'SET threads = 4', 'DELETE FROM t']) {
      await expect(connection.run(past)).rejects.toThrow(/disabled by configuration|locked|read-only/)
    }
    close()
  })

  it('reports that there is no warehouse, or that the file is not one', async () => {
    const missing = openReader({ file: join(folder, 'none.duckdb'), ...options })
    await expect(missing).rejects.toMatchObject({ code: 'WAREHOUSE_MISSING' })
    await writeFile(join(folder, 'text.duckdb'), 'no database'.repeat(1_000))
    const text = openReader({ file: join(folder, 'text.duckdb'), ...options })
    await expect(text).rejects.toMatchObject({ code: 'HOME_UNUSABLE' })
  })

  it('reports which other process holds the warehouse', async () => {
    const script = `import { DuckDBInstance } from '@duckdb/node-api'
      globalThis.held = await DuckDBInstance.create(process.argv[1])
      console.log('held'); setInterval(() => {}, 1000)`
    const args = ['--input-type=module', '-e', script, file]
    const holder = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    try {
      // If the stream ends before that word, the query has failed.
      const signal = AbortSignal.timeout(30_000)
      const [said] = await Promise.race([once(holder.stdout, 'data', { signal }), once(holder, 'exit', { signal })])
      expect(String(said)).toBe('held\n')
      await expect(openReader({ file, ...options })).rejects.toMatchObject({
        code: 'WAREHOUSE_LOCKED',
        facts: { pid: holder.pid },
      })
    } finally {
      holder.kill('SIGKILL')
    }
  })
})
