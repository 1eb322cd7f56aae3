// Each format of a query result: every DuckDB type, its text, and readers that stop or lag. test/bi tests how pandas and Polars read the files.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { tableFromIPC } from 'apache-arrow'
import { describe, expect, it } from 'vitest'
import { formatted, type RowFormat } from '../../../src/cli/output/write.ts'
import { cells, readFrames } from '../../../src/warehouse/query/formats/cells.ts'
import { copyToParquet } from '../../../src/warehouse/query/parquet.ts'
import { runQuery } from '../../../src/warehouse/query/query.ts'
import type { Batch, QueryResult } from '../../../src/warehouse/query/results.ts'
import { formatRows } from '../../cli/query/format-rows.ts'
import { databaseOfFile, folderOfFile } from '../../of-file.ts'

const folder = await folderOfFile()
const connection = await databaseOfFile()

const run = (sql: string, maxRows?: number) =>
  runQuery({ connection, sql, timeoutMs: 60_000, ...(maxRows !== undefined && { maxRows }) })

async function bytesIn(result: QueryResult, format: RowFormat): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of formatted(result, format)) pieces.push(Buffer.from(piece as string))
  return Buffer.concat(pieces)
}

const bytesOf = async (sql: string, format: RowFormat): Promise<Buffer> => bytesIn(await run(sql), format)
const textOf = async (sql: string, format: RowFormat) => (await bytesOf(sql, format)).toString()

/** Returns the result after a transfer over the holder's socket, in pieces of seven bytes. */
async function wired(sql: string, format: RowFormat): Promise<Buffer> {
  const { rawBatches: _, ...result } = await run(sql)
  async function* pieces(): AsyncGenerator<Buffer> {
    for await (const frame of cells(result))
      for (let at = 0; at < frame.length; at += 7) yield frame.subarray(at, at + 7)
  }
  async function* batches(): AsyncGenerator<Batch> {
    for await (const message of readFrames(pieces())) if ('batch' in message) yield message.batch
  }
  return bytesIn({ ...result, batches: batches() }, format)
}

async function parquetFile(sql: string): Promise<string> {
  const file = join(folder, 'one.parquet')
  await copyToParquet({ connection, sql, timeoutMs: 60_000, file })
  return file
}

async function parquetTypes(sql: string): Promise<string[]> {
  const reader = await connection.runAndReadAll(`DESCRIBE FROM '${await parquetFile(sql)}'`)
  return reader.getRows().map(row => String(row[1]))
}

const arrowTypes = async (sql: string): Promise<string[]> =>
  tableFromIPC(await bytesOf(sql, 'arrow-file')).schema.fields.map(({ type }) => String(type))

/** Values beyond those of docs/formats.md: SQL, as text, as JSON. */
const LIMITS: [string, string, string][] = [
  ['-9223372036854775808::HUGEINT', '-9223372036854775808', '"-9223372036854775808"'],
  ["'-inf'::DOUBLE", '-Infinity', '"-Infinity"'],
  ["'nan'::FLOAT", 'NaN', '"NaN"'],
  ['18446744073709551615::UBIGINT', '18446744073709551615', '"18446744073709551615"'],
  ["'-0.0000000000000000001'::DECIMAL(38,19)", '-0.0000000000000000001', '"-0.0000000000000000001"'],
  ["'275760-09-13'::DATE", '+275760-09-13', '"+275760-09-13"'],
  ["TIMESTAMP '1969-12-31 23:59:59.999999'", '1969-12-31T23:59:59.999999', '"1969-12-31T23:59:59.999999"'],
  ["'-infinity'::TIMESTAMPTZ", '-infinity', '"-infinity"'],
  ["'275760-09-12 23:59:59.999999'::TIMESTAMP", '+275760-09-12T23:59:59.999999', '"+275760-09-12T23:59:59.999999"'],
  ["'0001-01-01 (BC) 00:00:00'::TIMESTAMP", '0000-01-01T00:00:00.000', '"0000-01-01T00:00:00.000"'],
  ["'2026-01-15 18:00:00.12'::TIMESTAMP_MS", '2026-01-15T18:00:00.120', '"2026-01-15T18:00:00.120"'],
  ["['a', NULL, '']", '["a",null,""]', '["a",null,""]'],
  [`{'a': 1, 'b "x': NULL::HUGEINT}`, '{"a":1,"b \\"x":null}', '{"a":1,"b \\"x":null}'],
  [
    "[{'at': TIME '10:00:00', 'r': row(1, 2)}, NULL]",
    '[{"at":"10:00:00","r":{"1":1,"2":2}},null]',
    '[{"at":"10:00:00","r":{"1":1,"2":2}},null]',
  ],
  ["MAP {'k': 1::HUGEINT, 'l': NULL}", '{"k":1,"l":null}', '{"k":1,"l":null}'],
  ["MAP {[1]: {'a': 2}}", '[{"key":[1],"value":{"a":2}}]', '[{"key":[1],"value":{"a":2}}]'],
]

const documented = formatRows(await readFile(join(import.meta.dirname, '../../../docs/formats.md'), 'utf8')).map(
  ({ sql, asText, asJson }): [string, string, string] => [sql, asText, asJson],
)
const VALUES = [...documented, ...LIMITS]

/** SQL expressions, with their types in Arrow, and in Parquet under DuckDB's names. */
const TYPES: [string, string, string][] = [
  ['255::UTINYINT', 'Int32', 'INTEGER'],
  ['1::UINTEGER', 'Int64', 'BIGINT'],
  ['1::UBIGINT', 'Decimal[20e0]', 'DECIMAL(20,0)'],
  ['sum(2)', 'Int64', 'BIGINT'],
  ["'5'::UHUGEINT", 'Utf8', 'VARCHAR'],
  ["'nan'::FLOAT", 'Float64', 'DOUBLE'],
  ['12.50::DECIMAL(9,2)', 'Decimal[9e+2]', 'DECIMAL(9,2)'],
  ["'x'::ENUM('x', 'y')", 'Utf8', 'VARCHAR'],
  ["'ab'::BLOB", 'Binary', 'BLOB'],
  [`'{"a": 1.10}'::JSON`, 'Utf8', 'VARCHAR'],
  ["'infinity'::DATE", 'Date32<DAY>', 'DATE'],
  ["TIMESTAMP '2026-01-15 18:00:00'", 'Timestamp<MICROSECOND>', 'TIMESTAMP'],
  ["'2026-01-15 18:00:00'::TIMESTAMP_S", 'Timestamp<MICROSECOND>', 'TIMESTAMP'],
  ["'2026-01-15 18:00:00.123456789'::TIMESTAMP_NS", 'Utf8', 'VARCHAR'],
  ["TIMESTAMPTZ '2026-01-15 18:00:00-08'", 'Timestamp<MICROSECOND, UTC>', 'TIMESTAMP WITH TIME ZONE'],
  ["union_value(k := 'a b')", 'Utf8', 'VARCHAR'],
  ['array_value(1, NULL)', 'List<Int32>', 'INTEGER[]'],
  [`{'a': 1, 'b "x': NULL::HUGEINT}`, 'Struct<{a:Int32, b "x:Int64}>', 'STRUCT(a INTEGER, "b ""x" BIGINT)'],
  [
    "[{'at': TIME '10:00:00', 'r': row(1, 2)}, NULL]",
    'List<Struct<{at:Utf8, r:Struct<{1:Int32, 2:Int32}>}>>',
    'STRUCT("at" VARCHAR, r STRUCT("1" INTEGER, "2" INTEGER))[]',
  ],
  [`['{"a": 1.10}'::JSON]`, 'List<Utf8>', 'VARCHAR[]'],
  [
    "MAP {[1]: {'a': 2::HUGEINT}}",
    'Map<{key:List<Int32>, value:Struct<{a:Int64}>}>',
    'MAP(INTEGER[], STRUCT(a BIGINT))',
  ],
]

describe('a value', () => {
  it.each(VALUES)('%s is the same in every format', async (sql, asText, asJson) => {
    const select = `SELECT ${sql} AS v`
    const csv = (await textOf(select, 'csv')).split('\r\n')[1]!
    expect(csv.startsWith('"') ? csv.slice(1, -1).replaceAll('""', '"') : csv).toBe(asText)
    expect((await textOf(select, 'table')).split('\n')[2]!.trim()).toBe(asText)
    expect(await textOf(select, 'ndjson')).toBe(`{"v":${asJson}}\n`)
    expect(await textOf(select, 'json')).toBe(`[\n{"v":${asJson}}\n]\n`)
    expect((await wired(select, 'ndjson')).toString()).toBe(`{"v":${asJson}}\n`)
    expect(await wired(select, 'arrow')).toEqual(await bytesOf(select, 'arrow'))
  })

  it('of each type has its type in Arrow and in Parquet', async () => {
    const all = `SELECT ${TYPES.map(([sql], at) => `${sql} AS c${at}`).join(', ')}`
    const named = (types: readonly string[]) => TYPES.map(([sql], at) => [sql, types[at]])
    expect(named(await arrowTypes(all))).toEqual(TYPES.map(([sql, inArrow]) => [sql, inArrow]))
    expect(named(await parquetTypes(all))).toEqual(TYPES.map(([sql, , inParquet]) => [sql, inParquet]))
  })

  it('that is NULL is empty in CSV and null elsewhere, for every type', async () => {
    const names = VALUES.map((_, at) => `c${at}`)
    const all = VALUES.map(([sql], at) => `${sql} AS c${at}`).join(', ')
    const sql = `SELECT ${names.map(name => `nullif(${name}, ${name}) AS ${name}`)} FROM (SELECT ${all})`
    expect((await textOf(sql, 'csv')).split('\r\n')[1]).toBe(','.repeat(names.length - 1))
    const nulls = Object.fromEntries(names.map(name => [name, null]))
    expect(JSON.parse(await textOf(sql, 'ndjson'))).toEqual(nulls)
    const table = tableFromIPC(await bytesOf(sql, 'arrow-file'))
    expect(names.map(name => [name, table.getChild(name)!.get(0)])).toEqual(Object.entries(nulls))
  })

  it('of every DuckDB type, at its limits, can be written as Arrow, and as text unless no calendar has it', async () => {
    const times = ['date', 'timestamp', 'timestamp_s', 'timestamp_ms', 'timestamp_tz']
    const noTimes = `EXCLUDE (${times.join(', ')}, date_array, timestamp_array, timestamptz_array)`
    const all = (which: string) =>
      `SELECT * ${which} REPLACE (hugeint // '20000000000000000000'::HUGEINT AS hugeint) FROM test_all_types()`
    expect(tableFromIPC(await bytesOf(all(''), 'arrow')).numRows).toBe(3)
    expect(JSON.parse(await textOf(all(noTimes), 'json'))).toHaveLength(3)
    expect(await wired(all(noTimes), 'csv')).toEqual(await bytesOf(all(noTimes), 'csv'))
    for (const time of times)
      await expect(textOf(`SELECT ${time} FROM test_all_types()`, 'csv')).rejects.toMatchObject({ code: 'SQL_INVALID' })
  })

  it('that is an integer of more than 64 bits is refused instead of being rounded', async () => {
    const sql = 'SELECT 9223372036854775808::HUGEINT AS h'
    const refused = { code: 'SQL_INVALID', message: expect.stringMatching(/value 9223372036854775808 .*out of range/) }
    for (const format of ['arrow', 'csv', 'json'] as const)
      await expect(bytesOf(sql, format)).rejects.toMatchObject(refused)
    await expect(parquetTypes(sql)).rejects.toMatchObject(refused)
    expect(await arrowTypes(sql.replace('HUGEINT', 'DECIMAL(38,0)'))).toEqual(['Decimal[38e0]'])
  })
})

describe('Arrow and Parquet', () => {
  it('rename columns of equal names alike, ignoring case', async () => {
    const sql = 'SELECT 1 AS a, 2 AS a, 3 AS A, 4 AS a_1'
    const names = tableFromIPC(await bytesOf(sql, 'arrow')).schema.names
    expect(names).toEqual(['a', 'a_2', 'A_3', 'a_1'])
    const reader = await connection.runAndReadAll(`DESCRIBE FROM '${await parquetFile(sql)}'`)
    expect(reader.getRows().map(row => row[0])).toEqual(names)
  })

  it("tell pandas each column's dtype in the same metadata: nullable for integers and booleans, times in UTC", async () => {
    const sql = `SELECT ts, n > 1 AS yes, n, sum(n) OVER () AS "it's \\x41 é", n / 2 AS half, 3::UTINYINT AS tiny,
      1.50::DECIMAL(9,2) AS money, DATE '2026-02-28' AS day, 'a' AS text, [true] AS list, {'a': ts} AS struct FROM (SELECT TIMESTAMPTZ '2026-01-15 18:00:00+00' AS ts, 1 AS n)`
    const inArrow = tableFromIPC(await bytesOf(sql, 'arrow-file')).schema.metadata.get('pandas')
    const file = await parquetFile(sql)
    const reader = await connection.runAndReadAll(
      `SELECT decode(value) FROM parquet_kv_metadata('${file}') WHERE key = 'pandas'::BLOB`,
    )
    expect(reader.getRows()).toEqual([[inArrow]])
    const { index_columns: index, columns } = JSON.parse(inArrow!) as {
      index_columns: unknown[]
      columns: { name: string; pandas_type: string; numpy_type: string; metadata: unknown }[]
    }
    expect(index).toEqual([])
    expect(columns.map(column => [column.name, column.pandas_type, column.numpy_type, column.metadata])).toEqual([
      ['ts', 'datetimetz', 'datetime64[us]', { timezone: 'UTC' }],
      ['yes', 'bool', 'boolean', null],
      ['n', 'int32', 'Int32', null],
      ["it's \\x41 é", 'int64', 'Int64', null],
      ['half', 'float64', 'float64', null],
      ['tiny', 'int32', 'Int32', null],
      ['money', 'decimal', 'object', { precision: 9, scale: 2 }],
      ['day', 'date', 'object', null],
      ['text', 'unicode', 'object', null],
      ['list', 'object', 'object', null],
      ['struct', 'object', 'object', null],
    ])
  })

  it('keep the order of the query although its values are cast', async () => {
    const sql = 'SELECT hash(range) % 1000003 AS h, range::HUGEINT AS n FROM range(200000) ORDER BY h, n'
    const hashes = [...tableFromIPC(await bytesOf(sql, 'arrow-file')).getChild('h')!] as bigint[]
    expect(hashes).toHaveLength(200_000)
    expect(hashes.every((hash, at) => at === 0 || hash >= hashes[at - 1]!)).toBe(true)
    const file = await parquetFile(sql)
    const reader = await connection.runAndReadAll(
      `SELECT count(*) FROM (SELECT h < lag(h) OVER (ORDER BY file_row_number) AS wrong FROM read_parquet('${file}', file_row_number = true)) WHERE wrong`,
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

/** Types that the warehouse uses, with their edge cases, and a row of NULLs. */
const SAMPLE = `SELECT * FROM (VALUES
  (9007199254740993::BIGINT, 9223372036854775807::HUGEINT, 12.50::DECIMAL(9,2), true, 'comma, "quote"' || chr(10) || 'línea 🦆', '{"a": 1}'::JSON,
   TIMESTAMP '1969-12-31 23:59:59.999999', TIMESTAMPTZ '2026-11-20 20:49:46+02', DATE '1969-12-31', ['a', NULL, 'b']),
  (-1, -1, -0.05, false, '', '"text"'::JSON, TIMESTAMP '2026-01-01 00:00:00', TIMESTAMPTZ '2026-01-01 00:00:00+00', DATE '2026-02-28', []),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
) v(big, huge, money, yes, text, doc, at_us, at_tz, day, list)`

describe('Arrow', () => {
  it('keeps types, and values to the last digit', async () => {
    const read = tableFromIPC(await bytesOf(SAMPLE, 'arrow'))
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
    expect(read.schema.fields[5]!.metadata.get('duckdb_type')).toBe('JSON')
  })

  it.each(['true', 'range % 7 = 0'])(
    'copies columns without a value per cell, and they are the same: rows where %s',
    async where => {
      const values = [
        ...['range % 3 = 0', 'range::INTEGER', '-range', 'range / 7', "DATE '2026-01-01' + range::INTEGER"],
        ...["TIMESTAMP '2026-01-01' + range * INTERVAL 1 SECOND", "TIMESTAMPTZ '1926-01-01' + range * INTERVAL 1 HOUR"],
        ...['DECIMAL(4,1)', 'DECIMAL(9,2)', 'DECIMAL(18,4)', 'DECIMAL(38,10)'].map(type => `(-range % 400)::${type}`),
        ...["repeat('ä', (range % 9)::INT)", "repeat('🙂x', (range % 13)::INT)", "'fixed'", '[range, NULL]'],
        ...["CASE WHEN range % 2 = 0 THEN 'long text number ' || range ELSE '' END", 'md5(range::VARCHAR)', 'NULL'],
      ]
      const nullable = values.map((value, at) => `CASE WHEN range % ${at + 2} <> 1 THEN ${value} END AS n${at}`)
      const columns = [...values.map((value, at) => `${value} AS v${at}`), ...nullable].join(', ')
      const sql = `SELECT ${columns} FROM range(5000) WHERE ${where} ORDER BY range`
      const rowsIn = (bytes: Buffer) => tableFromIPC(bytes).toArray().map(String)
      for (const maxRows of [Number.POSITIVE_INFINITY, 3_001]) {
        const copied = rowsIn(await bytesIn(await run(sql, maxRows), 'arrow'))
        const { rawBatches: _, ...byCells } = await run(sql, maxRows)
        const read = rowsIn(await bytesIn(byCells, 'arrow'))
        expect(copied).toHaveLength(read.length)
        const different = copied.findIndex((row, at) => row !== read[at])
        expect(copied[different]).toBe(read[different])
      }
    },
  )

  it.each(['arrow', 'arrow-file'] as const)('has a schema without rows, and all of many rows: %s', async format => {
    const none = tableFromIPC(await bytesOf('SELECT 1 AS a WHERE false', format))
    expect([none.numRows, none.schema.names]).toEqual([0, ['a']])
    const many = tableFromIPC(await bytesOf("SELECT range AS n, 'x' AS t FROM range(90000) ORDER BY n", format))
    expect(many.numRows).toBe(90_000)
    expect(many.getChild('n')!.get(89_999)).toBe(89_999n)
    expect(many.batches.length).toBeLessThanOrEqual(Math.ceil(90_000 / 2_048))
  })
})

/** Converts 128-bit two's complement from its 32-bit words. */
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

  it('keeps a JSON column of several lines on one, with every digit', async () => {
    const sql = `SELECT ('{' || chr(10) || '  "id": 12345678901234567890.10' || chr(10) || '}')::JSON AS doc`
    expect(await textOf(sql, 'ndjson')).toBe('{"doc":{ "id": 12345678901234567890.10 }}\n')
  })

  it('gives columns of equal names unique names', async () => {
    expect(await textOf('SELECT 1 AS a, 2 AS a, 3 AS a_1', 'ndjson')).toBe('{"a":1,"a_2":2,"a_1":3}\n')
    expect(await textOf('SELECT 1 AS a, 2 AS a_1, 3 AS a, 4 AS A', 'ndjson')).toBe('{"a":1,"a_1":2,"a_2":3,"A_3":4}\n')
  })
})

describe('CSV', () => {
  it('distinguishes NULL from the empty text, and quotes texts that need it', async () => {
    const sql = `SELECT NULL AS n, '' AS e, 'a b' AS t, 'x,y' AS c, 'say "hi"' AS q, chr(10) || 'é' || chr(13) AS l, 'a"b' AS "h""i"`
    expect(await textOf(sql, 'csv')).toBe('n,e,t,c,q,l,"h""i"\r\n,"",a b,"x,y","say ""hi""","\né\r","a""b"\r\n')
  })
})
