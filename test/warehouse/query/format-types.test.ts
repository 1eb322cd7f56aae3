// Every DuckDB type in every format. test/bi tests how pandas and Polars read the files.
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { tableFromIPC } from 'apache-arrow'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { formatted, type RowFormat } from '../../../src/cli/output/write.ts'
import { decodeBatch, encodeBatch } from '../../../src/warehouse/query/formats/cells.ts'
import { dateText, timestampText } from '../../../src/warehouse/query/formats/time-text.ts'
import { copyToParquet } from '../../../src/warehouse/query/parquet.ts'
import { runQuery } from '../../../src/warehouse/query/query.ts'
import type { Batch } from '../../../src/warehouse/query/results.ts'
import { formatRows } from '../../cli/query/format-rows.ts'

let folder: string
let connection: DuckDBConnection

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'output-types-'))
  connection = await (await DuckDBInstance.create(':memory:')).connect()
  await connection.run("CREATE TABLE stored AS SELECT TIMESTAMPTZ '2026-01-15 18:00:00.5Z' AS ts, 1 AS n")
})
afterAll(async () => {
  connection.closeSync()
  await rm(folder, { recursive: true })
})

/** The value in a format; `wired`: after a transfer over the holder's socket. */
async function bytesOf(sql: string, format: RowFormat, wired = false): Promise<Buffer> {
  const layout = format.startsWith('arrow') ? 'columns' : 'rows'
  const result = await runQuery({ connection, sql, timeoutMs: 60_000, layout })
  async function* overTheWire(batches: AsyncIterable<Batch>): AsyncGenerator<Batch> {
    for await (const batch of batches) yield decodeBatch(encodeBatch(batch), result.columns)
  }
  const batches = wired ? overTheWire(result.batches) : result.batches
  const pieces: Buffer[] = []
  for await (const piece of formatted({ ...result, batches }, format)) pieces.push(Buffer.from(piece as string))
  return Buffer.concat(pieces)
}

async function parquetTypes(sql: string): Promise<string[]> {
  const file = join(folder, 'one.parquet')
  await copyToParquet({ connection, sql, timeoutMs: 60_000, file })
  const reader = await connection.runAndReadAll(`DESCRIBE FROM '${file}'`)
  return reader.getRows().map(row => String(row[1]))
}

async function arrowTypes(sql: string): Promise<string[]> {
  return tableFromIPC(await bytesOf(sql, 'arrow-file')).schema.fields.map(field => String(field.type))
}

const text = 'Utf8'
const wide = '1'.repeat(50)

/** SQL; the value in a table and in CSV; in JSON; in Arrow; in Parquet, with DuckDB's type name. */
const VALUES: [string, string, string, string, string][] = [
  ['true', 'true', 'true', 'Bool', 'BOOLEAN'],
  ['(-128)::TINYINT', '-128', '-128', 'Int8', 'TINYINT'],
  ['255::UTINYINT', '255', '255', 'Uint8', 'UTINYINT'],
  ['1::SMALLINT', '1', '1', 'Int16', 'SMALLINT'],
  ['1::USMALLINT', '1', '1', 'Uint16', 'USMALLINT'],
  ['1', '1', '1', 'Int32', 'INTEGER'],
  ['1::UINTEGER', '1', '1', 'Uint32', 'UINTEGER'],
  ['9007199254740991', '9007199254740991', '9007199254740991', 'Int64', 'BIGINT'],

  ['18446744073709551615::UBIGINT', '18446744073709551615', '"18446744073709551615"', 'Uint64', 'UBIGINT'],
  ['sum(2)', '2', '2', 'Int64', 'BIGINT'],
  ['-9223372036854775808::HUGEINT', '-9223372036854775808', '"-9223372036854775808"', 'Int64', 'BIGINT'],
  [
    "'340282366920938463463374607431768211455'::UHUGEINT",
    '340282366920938463463374607431768211455',
    '"340282366920938463463374607431768211455"',
    text,
    'VARCHAR',
  ],
  [`'${wide}'::BIGNUM`, wide, `"${wide}"`, text, 'VARCHAR'],
  ['1e400', 'Infinity', '"Infinity"', 'Float64', 'DOUBLE'],
  ["'-inf'::DOUBLE", '-Infinity', '"-Infinity"', 'Float64', 'DOUBLE'],
  ["'nan'::DOUBLE", 'NaN', '"NaN"', 'Float64', 'DOUBLE'],
  ["'nan'::FLOAT", 'NaN', '"NaN"', 'Float32', 'FLOAT'],
  ["'-0'::DOUBLE", '-0', '-0', 'Float64', 'DOUBLE'],
  ['1e21::DOUBLE', '1e+21', '1e+21', 'Float64', 'DOUBLE'],
  ['0.1::FLOAT', '0.1', '0.1', 'Float32', 'FLOAT'],
  ['16777217::FLOAT', '16777216', '16777216', 'Float32', 'FLOAT'],
  ['12.50::DECIMAL(9,2)', '12.50', '12.50', 'Decimal[9e+2]', 'DECIMAL(9,2)'],
  [
    "'-0.0000000000000000001'::DECIMAL(38,19)",
    '-0.0000000000000000001',
    '"-0.0000000000000000001"',
    'Decimal[38e+19]',
    'DECIMAL(38,19)',
  ],
  ["'a\"b'", 'a"b', '"a\\"b"', text, 'VARCHAR'],
  ["'x'::ENUM('x', 'y')", 'x', '"x"', text, 'VARCHAR'],
  ["'ab'::BLOB", 'YWI=', '"YWI="', 'Binary', 'BLOB'],
  ["'1010'::BIT", '1010', '"1010"', text, 'VARCHAR'],
  [
    "'550e8400-e29b-41d4-a716-446655440000'::UUID",
    '550e8400-e29b-41d4-a716-446655440000',
    '"550e8400-e29b-41d4-a716-446655440000"',
    text,
    'VARCHAR',
  ],
  [`'{"a": 1.10}'::JSON`, '{"a": 1.10}', '{"a": 1.10}', text, 'VARCHAR'],
  ["DATE '2026-02-28'", '2026-02-28', '"2026-02-28"', 'Date32<DAY>', 'DATE'],
  ["'infinity'::DATE", 'infinity', '"infinity"', 'Date32<DAY>', 'DATE'],
  ["'-infinity'::DATE", '-infinity', '"-infinity"', 'Date32<DAY>', 'DATE'],
  ["'0044-03-15 (BC)'::DATE", '-000043-03-15', '"-000043-03-15"', 'Date32<DAY>', 'DATE'],
  ["'5881580-07-10'::DATE", '+5881580-07-10', '"+5881580-07-10"', 'Date32<DAY>', 'DATE'],
  [
    "TIMESTAMP '2026-01-15 18:00:00'",
    '2026-01-15T18:00:00.000',
    '"2026-01-15T18:00:00.000"',
    'Timestamp<MICROSECOND>',
    'TIMESTAMP',
  ],
  [
    "TIMESTAMP '1969-12-31 23:59:59.999999'",
    '1969-12-31T23:59:59.999999',
    '"1969-12-31T23:59:59.999999"',
    'Timestamp<MICROSECOND>',
    'TIMESTAMP',
  ],
  ["'infinity'::TIMESTAMP", 'infinity', '"infinity"', 'Timestamp<MICROSECOND>', 'TIMESTAMP'],
  ["'-infinity'::TIMESTAMPTZ", '-infinity', '"-infinity"', 'Timestamp<MICROSECOND, UTC>', 'TIMESTAMP WITH TIME ZONE'],
  [
    "'294247-01-10 04:00:54.775806'::TIMESTAMP",
    '+294247-01-10T04:00:54.775806',
    '"+294247-01-10T04:00:54.775806"',
    'Timestamp<MICROSECOND>',
    'TIMESTAMP',
  ],
  [
    "'0001-01-01 (BC) 00:00:00'::TIMESTAMP",
    '0000-01-01T00:00:00.000',
    '"0000-01-01T00:00:00.000"',
    'Timestamp<MICROSECOND>',
    'TIMESTAMP',
  ],
  [
    "'2026-01-15 18:00:00'::TIMESTAMP_S",
    '2026-01-15T18:00:00.000',
    '"2026-01-15T18:00:00.000"',
    'Timestamp<MICROSECOND>',
    'TIMESTAMP',
  ],
  [
    "'2026-01-15 18:00:00.12'::TIMESTAMP_MS",
    '2026-01-15T18:00:00.120',
    '"2026-01-15T18:00:00.120"',
    'Timestamp<MICROSECOND>',
    'TIMESTAMP',
  ],
  [
    "'2026-01-15 18:00:00.123456789'::TIMESTAMP_NS",
    '2026-01-15T18:00:00.123456789',
    '"2026-01-15T18:00:00.123456789"',
    'Timestamp<NANOSECOND>',
    'TIMESTAMP_NS',
  ],
  [
    "TIMESTAMPTZ '2026-01-15 18:00:00-08'",
    '2026-01-16T02:00:00.000Z',
    '"2026-01-16T02:00:00.000Z"',
    'Timestamp<MICROSECOND, UTC>',
    'TIMESTAMP WITH TIME ZONE',
  ],
  ["TIME '24:00:00'", '24:00:00', '"24:00:00"', text, 'VARCHAR'],
  ["'12:00:00+05:30'::TIMETZ", '12:00:00+05:30', '"12:00:00+05:30"', text, 'VARCHAR'],
  ["'12:00:00.123456789'::TIME_NS", '12:00:00.123456789', '"12:00:00.123456789"', text, 'VARCHAR'],
  [
    "INTERVAL '14 months 2 days 03:04:05.678901'",
    '1 year 2 months 2 days 03:04:05.678901',
    '"1 year 2 months 2 days 03:04:05.678901"',
    text,
    'VARCHAR',
  ],
  ["'POINT(1 2)'::GEOMETRY", 'POINT (1 2)', '"POINT (1 2)"', text, 'VARCHAR'],
  ["{'a': [1]}::VARIANT", '{"a":[1]}', '{"a":[1]}', text, 'VARCHAR'],
  ["union_value(k := 'a b')", '{"k":"a b"}', '{"k":"a b"}', text, 'VARCHAR'],
  ["['a', NULL, '']", '["a",null,""]', '["a",null,""]', 'List<Utf8>', 'VARCHAR[]'],
  ['[]', '[]', '[]', 'List<Int32>', 'INTEGER[]'],
  ['[[1], NULL, []]', '[[1],null,[]]', '[[1],null,[]]', 'List<List<Int32>>', 'INTEGER[][]'],
  ['array_value(1, NULL)', '[1,null]', '[1,null]', 'List<Int32>', 'INTEGER[]'],
  [
    "{'a': 1, 'b \"x': NULL::HUGEINT}",
    '{"a":1,"b \\"x":null}',
    '{"a":1,"b \\"x":null}',
    'Struct<{a:Int32, b "x:Int64}>',
    'STRUCT(a INTEGER, "b ""x" BIGINT)',
  ],
  [
    "row(1, 'z')",
    '{"1":1,"2":"z"}',
    '{"1":1,"2":"z"}',
    'Struct<{1:Int32, 2:Utf8}>',
    'STRUCT("1" INTEGER, "2" VARCHAR)',
  ],
  [
    "[{'at': TIME '10:00:00', 'r': row(1, 2)}, NULL]",
    '[{"at":"10:00:00","r":{"1":1,"2":2}},null]',
    '[{"at":"10:00:00","r":{"1":1,"2":2}},null]',
    'List<Struct<{at:Utf8, r:Struct<{1:Int32, 2:Int32}>}>>',
    'STRUCT("at" VARCHAR, r STRUCT("1" INTEGER, "2" INTEGER))[]',
  ],
  [
    "MAP {'k': 1::HUGEINT, 'l': NULL}",
    '{"k":1,"l":null}',
    '{"k":1,"l":null}',
    'Map<{key:Utf8, value:Int64}>',
    'MAP(VARCHAR, BIGINT)',
  ],
  [
    "MAP {[1]: {'a': 2}}",
    '[{"key":[1],"value":{"a":2}}]',
    '[{"key":[1],"value":{"a":2}}]',
    'Map<{key:List<Int32>, value:Struct<{a:Int32}>}>',
    'MAP(INTEGER[], STRUCT(a INTEGER))',
  ],
]

describe('docs/formats.md', () => {
  it('shows the actual output', async () => {
    const rows = formatRows(await readFile(join(import.meta.dirname, '..', '..', '..', 'docs', 'formats.md'), 'utf8'))
    expect(rows.length).toBeGreaterThan(35)
    for (const { sql, asText, asJson } of rows) {
      const select = `SELECT ${sql} AS v`
      expect((await bytesOf(select, 'table')).toString().split('\n')[2]!.trim(), sql).toBe(asText)
      expect((await bytesOf(select, 'ndjson')).toString(), sql).toBe(`{"v":${asJson}}\n`)
    }
  })
})

describe('a value', () => {
  const all = VALUES.map(([sql], at) => `${sql} AS c${at}`).join(', ')

  it.each(VALUES)('%s is the same in every format', async (sql, asText, asJson) => {
    const select = `SELECT ${sql} AS v`
    const csv = (await bytesOf(select, 'csv')).toString().split('\r\n')[1]!
    expect(csv.startsWith('"') ? csv.slice(1, -1).replaceAll('""', '"') : csv).toBe(asText)
    expect((await bytesOf(select, 'table')).toString().split('\n')[2]!.trim()).toBe(asText)
    expect((await bytesOf(select, 'ndjson')).toString()).toBe(`{"v":${asJson}}\n`)
    expect((await bytesOf(select, 'json')).toString()).toBe(`[\n{"v":${asJson}}\n]\n`)
    expect((await bytesOf(select, 'ndjson', true)).toString()).toBe(`{"v":${asJson}}\n`)
    expect(await bytesOf(select, 'arrow', true)).toEqual(await bytesOf(select, 'arrow'))
  })

  it('of each type has its type in Arrow and in Parquet', async () => {
    const named = (types: readonly string[]) => VALUES.map(([sql], at) => [sql, types[at]])
    expect(named(await arrowTypes(`SELECT ${all}`))).toEqual(VALUES.map(([sql, , , inArrow]) => [sql, inArrow]))
    expect(named(await parquetTypes(`SELECT ${all}`))).toEqual(VALUES.map(([sql, , , , inParquet]) => [sql, inParquet]))
  })

  it('that is NULL is empty in CSV and null elsewhere, for every type', async () => {
    const names = VALUES.map((_, at) => `c${at}`)
    const sql = `SELECT ${names.map(name => `nullif(${name}, ${name}) AS ${name}`)} FROM (SELECT ${all})`
    expect((await bytesOf(sql, 'csv')).toString().split('\r\n')[1]).toBe(','.repeat(names.length - 1))
    const nulls = Object.fromEntries(names.map(name => [name, null]))
    expect(JSON.parse((await bytesOf(sql, 'ndjson')).toString())).toEqual(nulls)
    const table = tableFromIPC(await bytesOf(sql, 'arrow-file'))
    expect(names.map(name => [name, table.getChild(name)!.get(0)])).toEqual(Object.entries(nulls))
  })

  it.each(['csv', 'json', 'ndjson', 'table', 'arrow', 'arrow-file'] as const)(
    'of every DuckDB type, at its limits, can be written as %s',
    async format => {
      // A HUGEINT is a BIGINT in Arrow and Parquet.
      const all = "SELECT * REPLACE (hugeint // '20000000000000000000'::HUGEINT AS hugeint) FROM test_all_types()"
      const bytes = await bytesOf(all, format)
      if (format === 'ndjson') for (const line of bytes.toString().trimEnd().split('\n')) JSON.parse(line)
      if (format === 'json') expect(JSON.parse(bytes.toString())).toHaveLength(3)
      if (format.startsWith('arrow')) expect(tableFromIPC(bytes).numRows).toBe(3)
      expect(await bytesOf(all, format, true)).toEqual(bytes)
    },
  )

  it('that is a HUGEINT above the range of BIGINT is refused by Arrow and Parquet instead of being rounded', async () => {
    const sql = 'SELECT 9223372036854775808::HUGEINT AS h'
    const refused = { code: 'SQL_INVALID', message: expect.stringMatching(/value 9223372036854775808 .*out of range/) }
    await expect(bytesOf(sql, 'arrow')).rejects.toMatchObject(refused)
    await expect(parquetTypes(sql)).rejects.toMatchObject(refused)
    expect((await bytesOf(sql, 'csv')).toString()).toContain('9223372036854775808')
    expect(await arrowTypes(sql.replace('HUGEINT', 'DECIMAL(38,0)'))).toEqual(['Decimal[38e0]'])
  })
})

describe('a time', () => {
  const LOCAL = "ts AT TIME ZONE 'America/Los_Angeles'"

  it('of the warehouse is UTC in every format; one that a query computes from it is not', async () => {
    const sql = `SELECT ts, max(ts) OVER () AS latest, ${LOCAL} AS local FROM stored`
    const stored = '2026-01-15T18:00:00.500Z'
    const local = '2026-01-15T10:00:00.500'
    expect((await bytesOf(sql, 'csv')).toString()).toBe(`ts,latest,local\r\n${stored},${stored},${local}\r\n`)
    expect(JSON.parse((await bytesOf(sql, 'ndjson', true)).toString())).toEqual({ ts: stored, latest: stored, local })
    expect((await arrowTypes(sql))[0]).toBe('Timestamp<MICROSECOND, UTC>')
    expect((await parquetTypes(sql))[0]).toBe('TIMESTAMP WITH TIME ZONE')
    expect(await arrowTypes(`SELECT ${LOCAL} AS local FROM stored`)).toEqual(['Timestamp<MICROSECOND>'])
    expect(await parquetTypes(`SELECT ${LOCAL} AS local FROM stored`)).toEqual(['TIMESTAMP'])
    expect(
      String(
        tableFromIPC(await bytesOf(sql, 'arrow'))
          .getChild('ts')!
          .get(0),
      ),
    ).toBe(String(Date.parse(stored)))
  })

  it('is written as JavaScript does, to the millisecond, in the whole range of its calendar', () => {
    fc.assert(
      fc.property(fc.integer({ min: -8.64e15, max: 8.64e15 }), ms => {
        const text = new Date(ms).toISOString()
        expect(timestampText(BigInt(ms), { kind: 'timestamp', unit: 'ms', zone: true })).toBe(text)
        expect(timestampText(BigInt(ms) * 1_000n, { kind: 'timestamp', unit: 'us', zone: true })).toBe(text)
        expect(dateText(Math.floor(ms / 86_400_000))).toBe(text.replace(/T.*/, ''))
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('Arrow and Parquet', () => {
  it('rename columns of equal names alike, ignoring case', async () => {
    const sql = 'SELECT 1 AS a, 2 AS a, 3 AS A, 4 AS a_1'
    const names = tableFromIPC(await bytesOf(sql, 'arrow')).schema.names
    expect(names).toEqual(['a', 'a_2', 'A_3', 'a_1'])
    await parquetTypes(sql)
    const reader = await connection.runAndReadAll(`DESCRIBE FROM '${join(folder, 'one.parquet')}'`)
    expect(reader.getRows().map(row => row[0])).toEqual(names)
  })

  it("tell pandas each column's dtype in the same metadata: nullable for integers and booleans, times in UTC", async () => {
    const sql = `SELECT ts, date_trunc('hour', ts) AS began, n > 1 AS yes, n, sum(n) OVER () AS "it's \\x41 é", n / 2 AS half, 3::UTINYINT AS tiny,
      1.50::DECIMAL(9,2) AS money, DATE '2026-02-28' AS day, 'a' AS text, [true] AS list, {'a': ts} AS struct FROM stored`
    const inArrow = tableFromIPC(await bytesOf(sql, 'arrow-file')).schema.metadata.get('pandas')
    await parquetTypes(sql)
    const reader = await connection.runAndReadAll(
      `SELECT decode(value) FROM parquet_kv_metadata('${join(folder, 'one.parquet')}') WHERE key = 'pandas'::BLOB`,
    )
    expect(reader.getRows()).toEqual([[inArrow]])
    const { index_columns: index, columns } = JSON.parse(inArrow!) as {
      index_columns: unknown[]
      columns: { name: string; pandas_type: string; numpy_type: string; metadata: unknown }[]
    }
    expect(index).toEqual([])
    expect(columns.map(column => [column.name, column.pandas_type, column.numpy_type, column.metadata])).toEqual([
      ['ts', 'datetimetz', 'datetime64[us]', { timezone: 'UTC' }],
      ['began', 'datetimetz', 'datetime64[us]', { timezone: 'UTC' }],
      ['yes', 'bool', 'boolean', null],
      ['n', 'int32', 'Int32', null],
      ["it's \\x41 é", 'int64', 'Int64', null],
      ['half', 'float64', 'float64', null],
      ['tiny', 'uint8', 'UInt8', null],
      ['money', 'decimal', 'object', { precision: 9, scale: 2 }],
      ['day', 'date', 'object', null],
      ['text', 'unicode', 'object', null],
      ['list', 'object', 'object', null],
      ['struct', 'object', 'object', null],
    ])
  })

  it('keep the order of the query although its values are cast', async () => {
    const sql = 'SELECT hash(range) % 1000003 AS h, (range)::HUGEINT AS n FROM range(200000) ORDER BY h, n'
    const hashes = [...tableFromIPC(await bytesOf(sql, 'arrow-file')).getChild('h')!] as bigint[]
    expect(hashes).toHaveLength(200_000)
    expect(hashes.every((hash, at) => at === 0 || hash >= hashes[at - 1]!)).toBe(true)
    await parquetTypes(sql)
    const reader = await connection.runAndReadAll(
      `SELECT count(*) FROM (SELECT h < lag(h) OVER (ORDER BY file_row_number) AS wrong FROM read_parquet('${join(folder, 'one.parquet')}', file_row_number = true)) WHERE wrong`,
    )
    expect(reader.getRows()[0]![0]).toBe(0n)
  })

  it('show where an error is in the SQL of the caller, not in the rewritten SQL', async () => {
    const sql = "SELECT 1::HUGEINT AS h,\n  ('x' || range)::INTEGER AS n FROM range(3)"
    const located = { message: expect.stringMatching(/'x0'(.|\n)*LINE 2: {3}\('x'/) }
    await expect(bytesOf(sql, 'arrow')).rejects.toMatchObject(located)
    await expect(parquetTypes(sql)).rejects.toMatchObject(located)
    await expect(bytesOf(sql.replace('1::HUGEINT', "'10:00'::TIME"), 'csv')).rejects.toMatchObject(located)
  })
})
