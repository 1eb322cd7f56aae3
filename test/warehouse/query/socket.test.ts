import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { encodeFrame } from '../../../src/warehouse/query/formats/cells.ts'
import { queryHolderToParquet } from '../../../src/warehouse/query/http/holder-client.ts'
import { socketPath } from '../../../src/warehouse/query/http/socket-path.ts'
import { serveQueries } from '../../../src/warehouse/query/http/socket-server.ts'
import type { Column } from '../../../src/warehouse/query/results.ts'
import { ENDLESS, LATE, rowsOf, servedWarehouse } from './served-warehouse.ts'

const served = servedWarehouse()

describe('the process that holds the warehouse', () => {
  it('answers while it writes', async () => {
    await served.writer.run('BEGIN')
    await served.writer.run('INSERT INTO numbers SELECT 0, NULL')
    const result = await served.ask('SELECT count(*), sum(n), max(text) FROM numbers')
    expect(await rowsOf(result)).toEqual([[20_000n, 199_990_000n, 'x'.repeat(100)]])
    await served.writer.run('COMMIT')
    expect(await rowsOf(await served.ask('SELECT count(*) FROM numbers'))).toEqual([[20_001n]])
    await served.writer.run('DELETE FROM numbers WHERE text IS NULL')
  })

  it('reports an error after the first rows, with the message of DuckDB', async () => {
    const error = { code: 'SQL_INVALID', message: expect.stringMatching(/Could not convert string 'x27\d+'/) }
    await expect(served.ask(LATE).then(rowsOf)).rejects.toMatchObject(error)
  })

  it('sends Parquet, and keeps no copy', async () => {
    const file = join(served.home, 'out.parquet')
    const written = await queryHolderToParquet({ home: served.home, sql: 'FROM numbers;', file, timeoutMs: 20_000 })
    expect(written).toEqual({ rows: 20_000, bytes: (await readFile(file)).length })
    const back = await served.writer.runAndReadAll(`SELECT count(*), sum(n) FROM '${file}'`)
    expect(back.getRows()).toEqual([[20_000n, 199_990_000n]])
    expect(await readdir(join(served.home, 'query-parts'))).toEqual([])
    const failed = queryHolderToParquet({ home: served.home, sql: 'FROM nowhere', file: `${file}2`, timeoutMs: 20_000 })
    await expect(failed).rejects.toMatchObject({ code: 'SQL_INVALID' })
    expect((await readdir(served.home)).filter(name => /parquet2|part$/.test(name))).toEqual([])
  })

  it('gives access only to the warehouse, although it may open files itself', async () => {
    const secret = join(served.home, 'secret.csv')
    await writeFile(secret, 'word\nopensesame\n')
    expect((await served.writer.runAndReadAll(`FROM '${secret}'`)).getRows()).toEqual([['opensesame']])
    for (const sql of [`FROM '${secret}'`, `SELECT 1) TO '${secret}'; --`, 'SET enable_external_access = true']) {
      await expect(served.ask(sql).then(rowsOf), sql).rejects.toMatchObject({ code: expect.stringMatching(/^SQL_/) })
      const parquet = queryHolderToParquet({
        home: served.home,
        sql,
        file: join(served.home, 'stolen'),
        timeoutMs: 20_000,
      })
      await expect(parquet, sql).rejects.toMatchObject({ code: expect.stringMatching(/^SQL_/) })
    }
    expect(await readFile(secret, 'utf8')).toBe('word\nopensesame\n')
  })

  it('stops the query of a client that has gone, and frees its slot', async () => {
    const leaving = Array.from({ length: 4 }, () => new AbortController())
    const outcomes = leaving.map(({ signal }) => served.ask(ENDLESS, { signal }).catch(error => error))
    const refused = { code: 'TOO_MANY_QUERIES', message: expect.stringMatching(/runs 4 queries at a time/) }
    expect(await served.untilRefused()).toMatchObject(refused)
    for (const client of leaving) client.abort()
    for (const outcome of await Promise.all(outcomes)) expect(outcome).toMatchObject({ code: 'INTERRUPTED' })
    await served.untilAnswered()
  })

  it('buffers little of an answer that is not read, and stops its query when the client leaves', async () => {
    const large = () => served.ask('SELECT a.text FROM numbers a, numbers b LIMIT 4000000')
    const results = await Promise.all([large(), large(), large(), large()])
    const before = process.memoryUsage().rss
    await sleep(500)
    // Each complete answer is 400 MB.
    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000)
    for (const result of results) await result.close()
    await served.untilAnswered()
  })

  it('tells its clients when it ends, and then answers nothing', async () => {
    const answer = served.ask(ENDLESS)
    await sleep(100)
    const [outcome] = await Promise.all([answer.catch(error => error), served.server.close()])
    expect(outcome).toMatchObject({ code: 'INTERRUPTED' })
    await expect(served.ask('SELECT 1')).rejects.toMatchObject({ code: 'WAREHOUSE_LOCKED' })
  })
})

describe('the socket', () => {
  it('is accessible only to its owner', async () => {
    expect((await stat(served.server.path)).mode & 0o777).toBe(0o600)
  })

  it('is not taken over from a living process', async () => {
    await expect(serveQueries({ home: served.home, instance: served.instance })).rejects.toMatchObject({
      code: 'WAREHOUSE_LOCKED',
    })
    expect(await rowsOf(await served.ask('SELECT 1'))).toEqual([[1]])
  })

  it('is taken over from a killed process', async () => {
    await served.server.close()
    const script = `require('node:net').createServer().listen(process.argv[1], () => console.log('listening'))`
    const killed = spawn(process.execPath, ['-e', script, served.server.path], { stdio: ['ignore', 'pipe', 'inherit'] })
    const signal = AbortSignal.timeout(30_000)
    await once(killed.stdout, 'data', { signal })
    killed.kill('SIGKILL')
    await once(killed, 'exit', { signal })
    expect((await stat(served.server.path)).isSocket()).toBe(true)
    await expect(served.ask('SELECT 1')).rejects.toMatchObject({ code: 'WAREHOUSE_LOCKED' })
    served.server = await serveQueries({ home: served.home, instance: served.instance })
    expect(await rowsOf(await served.ask('SELECT 1'))).toEqual([[1]])
  })

  it('replaces no file that is not a socket', async () => {
    await served.server.close()
    await writeFile(served.server.path, 'precious')
    await expect(serveQueries({ home: served.home, instance: served.instance })).rejects.toMatchObject({
      code: 'HOME_UNUSABLE',
    })
    expect(await readFile(served.server.path, 'utf8')).toBe('precious')
  })

  it('is refused if the path of the data folder is too long for it', async () => {
    const deep = join(served.home, 'd'.repeat(120))
    await mkdir(deep)
    await expect(socketPath(deep)).rejects.toMatchObject({ code: 'HOME_UNUSABLE', hint: /shorter/ })
  })
})

describe('a client', () => {
  /** Returns a holder that answers every request with these bytes, then closes the connection or leaves the answer unfinished. */
  async function answering(how: (response: ServerResponse) => void) {
    await served.server.close()
    const other = createServer((_, response) => how(response))
    other.listen(served.server.path)
    await once(other, 'listening')
    return { close: () => other.close() }
  }

  const columns: Column[] = [{ name: 'n', type: 'INTEGER', shape: { kind: 'integer', bits: 32 } }]
  const batch = encodeFrame({ batch: { rows: 1, columns: [[1]] } })

  it.each<[string, (response: ServerResponse) => void]>([
    ['within a frame', response => response.write(batch.subarray(0, 3), () => response.destroy())],
    ['between two frames', response => response.write(batch, () => response.destroy())],
    ['with a normal end of the connection', response => response.end(batch)],
    ['before the first frame', response => response.destroy()],
  ])('notices a holder that dies in the middle of an answer: %s', async (_, die) => {
    const dying = await answering(response => {
      response.writeHead(200)
      response.write(encodeFrame({ columns }), () => die(response))
    })
    await expect(served.ask('SELECT 1').then(rowsOf)).rejects.toMatchObject({ code: 'WAREHOUSE_ENDED' })
    dying.close()
  })

  it('notices a holder that dies in the middle of a Parquet file, and leaves no file', async () => {
    const dying = await answering(response => {
      response.writeHead(200, { 'Content-Length': 1_000 })
      response.write('PAR1', () => response.destroy())
    })
    const file = join(served.home, 'cut.parquet')
    const query = queryHolderToParquet({ home: served.home, sql: 'SELECT 1', file, timeoutMs: 5_000 })
    await expect(query).rejects.toMatchObject({ code: 'WAREHOUSE_ENDED' })
    expect((await readdir(served.home)).filter(name => name.includes('cut'))).toEqual([])
    dying.close()
  })

  it.each([404, 406])('reports a holder of another version, which answers with %i', async status => {
    const other = await answering(response => response.writeHead(status).end())
    const locked = { code: 'WAREHOUSE_LOCKED', message: expect.stringContaining('another version') }
    await expect(served.ask('SELECT 1')).rejects.toMatchObject(locked)
    other.close()
  })
})
