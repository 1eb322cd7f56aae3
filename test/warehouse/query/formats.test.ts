import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { tableFromIPC } from 'apache-arrow'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { chooseFormat, formatted, type RowFormat, writeResult } from '../../../src/cli/output/write.ts'

import { field } from '../../../src/warehouse/query/formats/csv.ts'
import { runQuery } from '../../../src/warehouse/query/query.ts'
import type { QueryResult } from '../../../src/warehouse/query/results.ts'
import { uniqueNames } from '../../../src/warehouse/query/results.ts'

let folder: string
let instance: DuckDBInstance
let connection: DuckDBConnection

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'output-'))
  instance = await DuckDBInstance.create(':memory:')
})
beforeEach(async () => {
  connection = await instance.connect()
})
afterAll(async () => {
  instance.closeSync()
  await rm(folder, { recursive: true })
})

const run = (sql: string, maxRows?: number) =>
  runQuery({ connection, sql, timeoutMs: 20_000, ...(maxRows !== undefined && { maxRows }) })

async function bytesOf(sql: string, format: RowFormat): Promise<Buffer> {
  const layout = format.startsWith('arrow') ? 'columns' : 'rows'
  return bytesIn(await runQuery({ connection, sql, timeoutMs: 20_000, layout }), format)
}

async function bytesIn(result: QueryResult, format: RowFormat): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of formatted(result, format)) pieces.push(Buffer.from(piece as string))
  return Buffer.concat(pieces)
}
const textOf = async (sql: string, format: RowFormat) => (await bytesOf(sql, format)).toString()

/** A query that returns rows for a while before it fails. */
const FAILING_LATE = `SELECT CASE WHEN range < 270000 THEN 1 ELSE ('x' || range)::INTEGER END FROM range(300000)`

/** Every type that the warehouse uses, with its edge cases, and a row of NULLs. */
const SAMPLE = `SELECT * FROM (VALUES
  (1, 9007199254740993::BIGINT, 9223372036854775807::HUGEINT, 1.5::DOUBLE, 12.50::DECIMAL(9,2),
   1234567890123456.789::DECIMAL(19,3), true, 'comma, "quote"' || chr(10) || 'línea 🦆', '{"a": [1, 2.50], "b": null}'::JSON,
   TIMESTAMP '2026-11-20 20:49:46.123', TIMESTAMP '1969-12-31 23:59:59.999999', TIMESTAMPTZ '2026-11-20 20:49:46+02',
   DATE '1969-12-31', '550e8400-e29b-41d4-a716-446655440000'::UUID, ['a', NULL, 'b'], {'x': 1, 'y': 'z'}),
  (2, -1, -1, -0.1, -0.05, -0.001, false, '', '"text"'::JSON,
   TIMESTAMP '2026-01-01 00:00:00', TIMESTAMP '2026-01-01 00:00:00', TIMESTAMPTZ '2026-01-01 00:00:00+00',
   DATE '2026-02-28', '00000000-0000-0000-0000-000000000000'::UUID, [], {'x': NULL, 'y': ''}),
  (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
) v(id, big, huge, real, money, exact, yes, text, doc, at_ms, at_us, at_tz, day, uuid, list, struct) ORDER BY id`

const COLUMNS = `{id: 'INTEGER', big: 'BIGINT', huge: 'HUGEINT', real: 'DOUBLE', money: 'DECIMAL(9,2)',
  exact: 'DECIMAL(19,3)', yes: 'BOOLEAN', text: 'VARCHAR', doc: 'JSON', at_ms: 'TIMESTAMP', at_us: 'TIMESTAMP',
  at_tz: 'TIMESTAMPTZ', day: 'DATE', uuid: 'UUID', list: 'VARCHAR[]', struct: 'STRUCT(x INTEGER, y VARCHAR)'}`

/** The rows of two queries, compared by DuckDB's own text of every value. */
async function expectSame(sql: string, other: string): Promise<void> {
  const [rows, others] = await Promise.all(
    [sql, other].map(async query => (await connection.runAndReadAll(query)).getRowsJson()),
  )
  expect(others).toEqual(rows)
}

describe('output that DuckDB reads back', () => {
  it.each(['json', 'ndjson'] as const)('from %s equals the query', async format => {
    const file = join(folder, `back.${format}`)
    await writeFile(file, await bytesOf(SAMPLE, format))
    const kind = format === 'json' ? 'array' : 'newline_delimited'
    // JSON text is compared without its spaces, which reading it back drops.
    const back = `SELECT * REPLACE (json(doc) AS doc) FROM read_json('${file}', format='${kind}', columns=${COLUMNS}) ORDER BY id`
    await expectSame(`SELECT * REPLACE (json(doc) AS doc) FROM (${SAMPLE})`, back)
  })

  it('from CSV equals the query', async () => {
    const file = join(folder, 'back.csv')
    await writeFile(file, await bytesOf(SAMPLE, 'csv'))
    const columns = COLUMNS.replace("'VARCHAR[]'", "'JSON'").replace("'STRUCT(x INTEGER, y VARCHAR)'", "'JSON'")
    const nested = '* REPLACE (json(doc) AS doc, to_json(list) AS list, to_json(struct) AS struct)'
    const options = `header=true, delim=',', quote='"', escape='"', allow_quoted_nulls=false, columns=${columns}`
    await expectSame(
      `SELECT ${nested} FROM (${SAMPLE})`,
      `SELECT ${nested} FROM read_csv('${file}', ${options}) ORDER BY id`,
    )
  })
})

describe('Arrow', () => {
  it('keeps types, and values to the last digit', async () => {
    const read = tableFromIPC(await bytesOf(SAMPLE, 'arrow'))
    expect(Object.fromEntries(read.schema.fields.map(({ name, type }) => [name, String(type)]))).toEqual({
      id: 'Int32',
      big: 'Int64',
      huge: 'Int64',
      real: 'Float64',
      money: 'Decimal[9e+2]',
      exact: 'Decimal[19e+3]',
      yes: 'Bool',
      text: 'Utf8',
      doc: 'Utf8',
      at_ms: 'Timestamp<MICROSECOND>',
      at_us: 'Timestamp<MICROSECOND>',
      at_tz: 'Timestamp<MICROSECOND, UTC>',
      day: 'Date32<DAY>',
      uuid: 'Utf8',
      list: 'List<Utf8>',
      struct: 'Struct<{x:Int32, y:Utf8}>',
    })
    const values = (name: string) => [...read.getChild(name)!]
    expect(values('big')).toEqual([9007199254740993n, -1n, null])
    expect(values('yes')).toEqual([true, false, null])
    expect(values('text')).toEqual(['comma, "quote"\nlínea 🦆', '', null])
    expect(values('list').map(list => list && [...list])).toEqual([['a', null, 'b'], [], null])
    const raw = (name: string) =>
      read.getChild(name)!.data.flatMap(({ values, length }) => [...(values as BigInt64Array)].slice(0, length))
    expect(raw('at_us')).toEqual([-1n, 1767225600000000n, 0n])
    expect(raw('at_tz')).toEqual([1795200586000000n, 1767225600000000n, 0n])
    expect(raw('day')).toEqual([-1, 20512, 0])
    expect(words(read.getChild('money')!.data.flatMap(({ values }) => [...values]))).toEqual([1250n, -5n, 0n])
    expect(values('huge')).toEqual([2n ** 63n - 1n, -1n, null])
    expect(values('money').at(-1)).toBeNull()
    expect(read.schema.fields[8]!.metadata.get('duckdb_type')).toBe('JSON')
  })

  it.each(['arrow', 'arrow-file'] as const)('has a schema without rows, and all of many rows: %s', async format => {
    const none = tableFromIPC(await bytesOf('SELECT 1 AS a WHERE false', format))
    expect([none.numRows, none.schema.names]).toEqual([0, ['a']])
    const many = tableFromIPC(await bytesOf("SELECT range AS n, 'x' AS t FROM range(90000) ORDER BY n", format))
    expect(many.numRows).toBe(90_000)
    expect(many.getChild('n')!.get(89_999)).toBe(89_999n)
    expect(many.batches.length).toBeLessThan(5)
  })

  it('ends with the error of its query', async () => {
    await expect(bytesIn(await run(FAILING_LATE), 'arrow')).rejects.toMatchObject({ code: 'SQL_INVALID' })
  })
})

/** 128-bit two's complement, from its 32-bit words. */
function words(flat: number[]): bigint[] {
  return Array.from({ length: flat.length / 4 }, (_, at) =>
    BigInt.asIntN(
      128,
      flat.slice(at * 4, at * 4 + 4).reduceRight((value, word) => (value << 32n) | BigInt(word >>> 0), 0n),
    ),
  )
}

describe('JSON', () => {
  it('is one array with a line per row', async () => {
    expect(await textOf("SELECT * FROM (VALUES (1, 'a'), (2, NULL)) v(n, t)", 'json')).toBe(
      '[\n{"n":1,"t":"a"},\n{"n":2,"t":null}\n]\n',
    )
    expect(await textOf('SELECT 1 AS n WHERE false', 'json')).toBe('[]\n')
    expect(await textOf('SELECT 1 AS n WHERE false', 'ndjson')).toBe('')
  })

  it('writes numbers as numbers if they stay exact, and JSON as it is', async () => {
    const [one] = JSON.parse(await textOf(SAMPLE, 'json'))
    expect(one).toMatchObject({
      big: '9007199254740993',
      money: 12.5,
      exact: '1234567890123456.789',
      doc: { a: [1, 2.5], b: null },
      at_ms: '2026-11-20T20:49:46.123',
      at_us: '1969-12-31T23:59:59.999999',
      at_tz: '2026-11-20T18:49:46.000Z',
      day: '1969-12-31',
      struct: { x: 1, y: 'z' },
    })
    const odd = "SELECT sum(2) AS total, 'NaN'::DOUBLE AS nan, MAP {'k': 1} AS m, MAP {1: 'v'} AS n, 'ab'::BLOB AS b"
    expect(await textOf(odd, 'ndjson')).toBe(
      '{"total":2,"nan":"NaN","m":{"k":1},"n":[{"key":1,"value":"v"}],"b":"YWI="}\n',
    )
  })

  it('keeps a JSON column of several lines on one, with every digit', async () => {
    const sql = `SELECT ('{' || chr(10) || '  "id": 12345678901234567890.10' || chr(10) || '}')::JSON AS doc`
    expect(await textOf(sql, 'ndjson')).toBe('{"doc":{ "id": 12345678901234567890.10 }}\n')
  })

  it('is valid for every value of every type', async () => {
    for (const line of (await textOf('FROM test_all_types()', 'ndjson')).trimEnd().split('\n')) JSON.parse(line)
    expect(JSON.parse(await textOf('FROM test_all_types()', 'json'))).toHaveLength(3)
  })

  it('gives columns of equal names unique names', async () => {
    expect(await textOf('SELECT 1 AS a, 2 AS a, 3 AS a_1', 'ndjson')).toBe('{"a":1,"a_2":2,"a_1":3}\n')
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'a_1', 'a_2', 'b')), names => {
        expect(new Set(uniqueNames(names)).size).toBe(names.length)
      }),
    )
  })
})

describe('CSV', () => {
  it('distinguishes NULL from the empty text', async () => {
    expect(await textOf("SELECT NULL AS n, '' AS e, 'a b' AS t, 'x,y' AS c", 'csv')).toBe(
      'n,e,t,c\r\n,"",a b,"x,y"\r\n',
    )
  })

  it('preserves every text', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: fc.constantFrom(...'ab," \n\r\t🦆é\'\\') }), { minLength: 1 }), texts => {
        expect(parseLine(texts.map(field).join(','))).toEqual(texts)
      }),
      { numRuns: 500 },
    )
  })
})

/** RFC 4180's grammar for one record. */
function parseLine(line: string): string[] {
  const FIELD = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|$)/y
  const fields: string[] = []
  for (;;) {
    const match = FIELD.exec(line)!
    fields.push(match[1]?.replaceAll('""', '"') ?? match[2]!)
    if (match[3] === '') return fields
  }
}

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
      const written = writeResult({ result: await run(FAILING_LATE), format, to: new PassThrough().resume() })
      await expect(written).rejects.toMatchObject({ code: 'SQL_INVALID' })
    }
  })

  it('reports that rows were cut off', async () => {
    const to = new PassThrough().resume()
    expect(await writeResult({ result: await run('FROM range(9)', 5), format: 'csv', to })).toEqual({
      rows: 5,
      truncated: true,
    })
  })
})
