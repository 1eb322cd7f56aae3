import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Cell, QueryResult } from '../../../src/warehouse/query/results.ts'
import { type HolderQuery, queryHolder, queryHolderToParquet } from '../../../src/warehouse/query/socket-client.ts'
import { socketPath } from '../../../src/warehouse/query/socket-path.ts'
import { encodeFrame, readFrames } from '../../../src/warehouse/query/socket-protocol.ts'
import { type QueryServer, serveQueries } from '../../../src/warehouse/query/socket-server.ts'

let home: string
let instance: DuckDBInstance
let writer: DuckDBConnection
let server: QueryServer

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'socket-'))
  instance = await DuckDBInstance.create(join(home, 'warehouse.duckdb'))
  writer = await instance.connect()
  await writer.run("CREATE TABLE numbers AS SELECT range AS n, repeat('x', 100) AS text FROM range(20000)")
  server = await serveQueries({ home, instance, maxQueries: 2 })
})
afterEach(async () => {
  await server.close()
  writer.closeSync()
  instance.closeSync()
  await rm(home, { recursive: true })
})

// Longer than a test may take: what is not stopped otherwise fails the test.
const ask = (sql: string, more: Partial<HolderQuery> & { maxRows?: number } = {}) =>
  queryHolder({ home, sql, timeoutMs: 120_000, ...more })

async function rowsOf(result: QueryResult): Promise<Cell[][]> {
  const rows: Cell[][] = []
  for await (const batch of result.batches) {
    for (let row = 0; row < batch.rows; row++) rows.push(batch.columns.map(cells => cells[row]!))
  }
  return rows
}

const ENDLESS = 'SELECT count(*) FROM numbers a, numbers b, numbers c WHERE a.n + b.n + c.n = 7'

/** Waits until as many queries have let go of their places that a new one is answered. */
async function untilAnswered(): Promise<void> {
  for (;;) {
    const answered = await ask('SELECT 1').then(rowsOf, () => undefined)
    if (answered) return
    await sleep(20)
  }
}

describe('the holder of the warehouse', () => {
  it('answers while it writes', async () => {
    await writer.run('BEGIN')
    await writer.run('INSERT INTO numbers SELECT 0, NULL')
    const result = await ask('SELECT count(*), sum(n), max(text) FROM numbers')
    expect(await rowsOf(result)).toEqual([[20_000n, 199_990_000n, 'x'.repeat(100)]])
    await writer.run('COMMIT')
    expect(await rowsOf(await ask('SELECT count(*) FROM numbers'))).toEqual([[20_001n]])
  })

  it('answers with the same columns and values as DuckDB in this process', async () => {
    const result = await ask('SELECT n, text, [n] AS list FROM numbers ORDER BY n')
    expect(result.columns.map(({ type }) => type)).toEqual(['BIGINT', 'VARCHAR', 'BIGINT[]'])
    const rows = await rowsOf(result)
    expect(rows).toHaveLength(20_000)
    expect(rows[19_999]).toEqual([19_999n, 'x'.repeat(100), [19_999n]])
    expect(result.tally()).toEqual({ rows: 20_000, truncated: false })
  })

  it('cuts at maxRows, and says so', async () => {
    const result = await ask('FROM numbers', { maxRows: 10 })
    expect(await rowsOf(result)).toHaveLength(10)
    expect(result.tally()).toEqual({ rows: 10, truncated: true })
  })

  it('tells errors with their code, their place and what to do', async () => {
    await expect(ask('SELECT zz FROM numbers')).rejects.toMatchObject({
      code: 'SQL_INVALID',
      message: expect.stringContaining('LINE 1: SELECT zz'),
    })
    await expect(ask('DROP TABLE numbers')).rejects.toMatchObject({
      code: 'SQL_REFUSED',
      hint: expect.stringContaining('SELECT'),
    })
    const late = "SELECT CASE WHEN range < 900000 THEN 1 ELSE ('x' || range)::INTEGER END FROM range(1000000)"
    await expect(ask(late).then(rowsOf)).rejects.toMatchObject({ code: 'SQL_INVALID' })
    await expect(ask(ENDLESS, { timeoutMs: 200 })).rejects.toMatchObject({ code: 'QUERY_TIMEOUT' })
  })

  it('sends Parquet, which it leaves no copy of', async () => {
    const file = join(home, 'out.parquet')
    const written = await queryHolderToParquet({ home, sql: 'FROM numbers;', file, timeoutMs: 20_000 })
    expect(written).toEqual({ rows: 20_000, bytes: (await readFile(file)).length })
    const back = await writer.runAndReadAll(`SELECT count(*), sum(n) FROM '${file}'`)
    expect(back.getRows()).toEqual([[20_000n, 199_990_000n]])
    expect(await readdir(join(home, 'query-parts'))).toEqual([])
    const failed = queryHolderToParquet({ home, sql: 'FROM nowhere', file: `${file}2`, timeoutMs: 20_000 })
    await expect(failed).rejects.toMatchObject({ code: 'SQL_INVALID' })
    expect((await readdir(home)).filter(name => /parquet2|part$/.test(name))).toEqual([])
  })

  it('hands out nothing but the warehouse, though it may open files itself', async () => {
    const secret = join(home, 'secret.csv')
    await writeFile(secret, 'word\nopensesame\n')
    expect((await writer.runAndReadAll(`FROM '${secret}'`)).getRows()).toEqual([['opensesame']])
    for (const sql of [
      `FROM '${secret}'`,
      `FROM "${join(home, 'secret')}".csv`,
      `SELECT * FROM numbers, LATERAL read_text('${secret}')`,
      `FROM main."READ_TEXT"('${secret}')`,
      `FROM query('FROM "${secret}"')`,
      `EXPLAIN ANALYZE COPY numbers TO '${secret}'`,
      `SELECT 1) TO '${secret}'; --`,
      `ATTACH '${secret}'`,
      'SET enable_external_access = true',
      'FROM force_checkpoint()',
    ]) {
      await expect(ask(sql).then(rowsOf), sql).rejects.toMatchObject({ code: expect.stringMatching(/^SQL_/) })
      const parquet = queryHolderToParquet({ home, sql, file: join(home, 'stolen'), timeoutMs: 20_000 })
      await expect(parquet, sql).rejects.toMatchObject({ code: expect.stringMatching(/^SQL_/) })
    }
    expect(await readFile(secret, 'utf8')).toBe('word\nopensesame\n')
  })

  it('lets no query make it fetch an extension', async () => {
    const settings = await writer.runAndReadAll(
      "SELECT value FROM duckdb_settings() WHERE name IN ('autoinstall_known_extensions', 'autoload_known_extensions')",
    )
    expect(settings.getRows()).toEqual([['false'], ['false']])
  })

  it('stops the query of an asker that has gone, and gives its place away', async () => {
    const leaving = [new AbortController(), new AbortController()]
    const outcomes = leaving.map(({ signal }) => ask(ENDLESS, { signal }).catch(error => error))
    await sleep(200)
    const third = ask('SELECT 1', { timeoutMs: 100 })
    await expect(third).rejects.toMatchObject({ code: 'TOO_MANY_QUERIES', message: /runs 2 queries at a time/ })
    for (const asker of leaving) asker.abort()
    for (const outcome of await Promise.all(outcomes)) expect(outcome).toMatchObject({ code: 'INTERRUPTED' })
    await untilAnswered()
  })

  it('stops the query of an asker that leaves in the middle of its rows', async () => {
    for (let turn = 0; turn < 3; turn++) {
      for await (const _ of (await ask('SELECT a.text FROM numbers a, numbers b')).batches) break
    }
    await untilAnswered()
  })

  it('keeps no more than a little of an answer that is not taken', async () => {
    const result = await ask('SELECT a.text FROM numbers a, numbers b LIMIT 4000000')
    const before = process.memoryUsage().rss
    await sleep(500)
    // The whole answer is 400 MB.
    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000)
    await result.close()
  })

  it('hangs up on one that connects and talks nonsense', async () => {
    const socket = connect(server.path)
    socket.write(Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'))
    socket.resume()
    await once(socket, 'close')
    const other = connect(server.path)
    other.write(encodeFrame({ kind: 'bytes' }))
    const [answer] = await all(readFrames(other, 10_000))
    expect(answer!.message).toMatchObject({ kind: 'error', code: 'WAREHOUSE_LOCKED' })
    await untilAnswered()
  })

  it('tells its askers when it ends, and answers no more', async () => {
    const answer = ask(ENDLESS)
    await sleep(100)
    const [outcome] = await Promise.all([answer.catch(error => error), server.close()])
    expect(outcome).toMatchObject({ code: 'INTERRUPTED' })
    await expect(ask('SELECT 1')).rejects.toMatchObject({ code: 'WAREHOUSE_LOCKED' })
  })
})

describe('the socket', () => {
  it('is open to its owner only', async () => {
    expect((await stat(server.path)).mode & 0o777).toBe(0o600)
  })

  it('is not taken from a living process', async () => {
    await expect(serveQueries({ home, instance })).rejects.toMatchObject({ code: 'WAREHOUSE_LOCKED' })
    expect(await rowsOf(await ask('SELECT 1'))).toEqual([[1]])
  })

  it('is taken over from a killed one', async () => {
    await server.close()
    const script = `require('node:net').createServer().listen(process.argv[1], () => console.log('listening'))`
    const killed = spawn(process.execPath, ['-e', script, server.path], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(killed.stdout, 'data')
    killed.kill('SIGKILL')
    await once(killed, 'exit')
    expect((await stat(server.path)).isSocket()).toBe(true)
    await expect(ask('SELECT 1')).rejects.toMatchObject({ code: 'WAREHOUSE_LOCKED' })
    server = await serveQueries({ home, instance })
    expect(await rowsOf(await ask('SELECT 1'))).toEqual([[1]])
  })

  it('replaces no file that is not a socket', async () => {
    await server.close()
    await writeFile(server.path, 'precious')
    await expect(serveQueries({ home, instance })).rejects.toMatchObject({ code: 'HOME_UNUSABLE' })
    expect(await readFile(server.path, 'utf8')).toBe('precious')
  })

  it('lies in a folder of its own where the path of the data folder is too long', async () => {
    const deep = join(home, 'd'.repeat(120))
    await mkdir(deep)
    const path = await socketPath(deep)
    expect(Buffer.byteLength(path)).toBeLessThan(104)
    expect((await stat(dirname(path))).mode & 0o777).toBe(0o700)
    expect(await socketPath(join(deep, '..', 'd'.repeat(120)))).toBe(path)
    const other = await serveQueries({ home: deep, instance })
    expect(await rowsOf(await ask('SELECT 2', { home: deep }))).toEqual([[2]])
    await other.close()
    await chmod(dirname(path), 0o777)
    await expect(socketPath(deep)).rejects.toMatchObject({ code: 'HOME_UNUSABLE' })
    await rm(dirname(path), { recursive: true })
  })
})

describe('an asker', () => {
  it('notices a holder that dies in the middle of an answer', async () => {
    await server.close()
    const dying = createServer(socket => {
      socket.write(encodeFrame({ kind: 'columns', columns: [] }))
      socket.end(encodeFrame({ kind: 'rows' }, Buffer.from('[[1]]')).subarray(0, 12))
    })
    dying.listen(server.path)
    await once(dying, 'listening')
    await expect(ask('SELECT 1').then(rowsOf)).rejects.toMatchObject({ code: 'WAREHOUSE_ENDED' })
    dying.close()
  })
})

describe('frames', () => {
  it('come out as they went in, however the bytes are cut', async () => {
    const payloads = fc.array(fc.uint8Array({ maxLength: 50 }), { minLength: 1, maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(payloads, fc.integer({ min: 1, max: 60 }), async (payloads, size) => {
        const bytes = Buffer.concat(payloads.map(payload => encodeFrame({ kind: 'bytes' }, payload)))
        const frames = await all(readFrames(pieces(bytes, size), 1_000))
        expect(frames.map(({ payload }) => [...payload])).toEqual(payloads.map(payload => [...payload]))
      }),
      { numRuns: 50 },
    )
  })
})

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
