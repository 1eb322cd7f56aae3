// Writing a query result to a stream: the chosen format, a reader that is slow or disconnects, and errors on either side.
import { PassThrough, Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { chooseFormat, writeResult } from '../../../src/cli/output/write.ts'
import { runQuery } from '../../../src/warehouse/query/query.ts'
import { databaseOfFile } from '../../of-file.ts'
import { LATE } from '../../warehouse/query/served-warehouse.ts'

const connection = await databaseOfFile()

const run = (sql: string) => runQuery({ connection, sql, timeoutMs: 20_000 })

describe('a format', () => {
  const terminal = Object.assign(new PassThrough(), { isTTY: true, columns: 80, hasColors: () => false })

  it('is a table on a terminal and CSV elsewhere, unless it is chosen', () => {
    expect(chooseFormat(undefined, terminal)).toBe('table')
    expect(chooseFormat(undefined, new PassThrough())).toBe('csv')
    expect(chooseFormat('ndjson', terminal)).toBe('ndjson')
    expect(chooseFormat('parquet', new PassThrough())).toBe('parquet')
  })

  it('must be suitable for a terminal', () => {
    expect(() => chooseFormat('arrow', terminal)).toThrow(/binary/)
  })
})

describe('writing', () => {
  it('shows a terminal no escape sequence of a value, in any format; files and pipes get the value', async () => {
    const sql = `SELECT chr(27) || ']52;c;eA==' || chr(7) || chr(155) || '2J' || chr(8238) || chr(13) AS said`
    const written = async (format: 'csv' | 'ndjson' | 'table', isTTY: boolean) => {
      const to = Object.assign(new PassThrough(), { isTTY, columns: 80, hasColors: () => false })
      await writeResult({ result: await run(sql), format, to })
      return String(to.read())
    }
    for (const format of ['csv', 'ndjson', 'table'] as const) {
      expect(await written(format, true)).toContain('\\u001b]52;c;eA==\\u0007\\u009b2J\\u202e\\r')
      for (const raw of '\u001b\u0007\u009b\u202e') expect(await written(format, true)).not.toContain(raw)
    }
    expect(await written('csv', false)).toContain('\u001b]52;c;eA==\u0007\u009b2J\u202e')
  })

  it('of CSV for Excel begins with a byte order mark and marks texts that Excel would compute; numbers stay numbers', async () => {
    const to = new PassThrough()
    const sql = `SELECT unnest(['=1+1', '+49 30', '-5', '-5.25', '-2+3', '@a', chr(8203) || chr(10) || '=a', 'a; =b', 'plain', NULL, '']) AS "=said", -5 AS n, -0.5::DOUBLE AS x`
    await writeResult({ result: await run(sql), format: 'csv-excel', to })
    const texts = ["'=1+1", "'+49 30", '-5', '-5.25', "'-2+3", "'@a", `"'\u200b\n=a"`, "a;' =b", 'plain', '', '""']
    expect(String(to.read())).toBe(`\ufeff'=said,n,x\r\n${texts.map(text => `${text},-5,-0.5\r\n`).join('')}`)
  })

  it('of a single column in CSV has a field in each row, since readers skip empty lines', async () => {
    const to = new PassThrough()
    await writeResult({ result: await run('SELECT unnest([1, NULL, 2]) AS n'), format: 'csv', to })
    expect(String(to.read())).toBe('n\r\n1\r\n""\r\n2\r\n')
  })

  it('is no faster than its reader', async () => {
    const to = new PassThrough({ highWaterMark: 1_000 })
    const written = writeResult({ result: await run('FROM range(200000)'), format: 'csv', to })
    await new Promise(resolve => setTimeout(resolve, 100))
    expect(to.writableLength + to.readableLength).toBeLessThan(200_000)
    let bytes = 0
    to.on('data', piece => {
      bytes += piece.length
    })
    expect(await written).toEqual({ rows: 200_000, truncated: false })
    expect(bytes).toBeGreaterThan(1_000_000)
  })

  it('ends quietly when the reader closes the pipe, and frees the query', async () => {
    const epipe = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })
    let pieces = 0
    const to = new Writable({ write: (_, __, done) => done(++pieces > 2 ? epipe : null) })
    const tally = await writeResult({ result: await run('FROM range(10000000)'), format: 'ndjson', to })
    expect(tally.rows).toBeLessThan(1_000_000)
    await connection.run('BEGIN')
    await connection.run('ROLLBACK')
  })

  it('ends quietly when the reader leaves during a wait for it', async () => {
    const to = new PassThrough({ highWaterMark: 10 })
    const written = writeResult({ result: await run('FROM range(10000000)'), format: 'csv', to })
    await new Promise(resolve => setTimeout(resolve, 50))
    to.destroy()
    expect((await written).rows).toBeLessThan(1_000_000)
  })

  it('reports other errors of the stream, and those of the query', async () => {
    const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' })
    const to = new Writable({ write: (_, __, done) => done(full) })
    await expect(writeResult({ result: await run('FROM range(10)'), format: 'json', to })).rejects.toBe(full)
    for (const format of ['csv', 'json', 'table'] as const) {
      const written = writeResult({ result: await run(LATE), format, to: new PassThrough().resume() })
      await expect(written).rejects.toMatchObject({ code: 'SQL_INVALID' })
    }
  })
})
