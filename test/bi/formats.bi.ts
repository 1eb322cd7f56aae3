// Other tools read the exported files: `npm run test:bi`.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { cli, scene, temporaryFolder } from '../cli/cli-process.ts'
import { formatRows } from '../cli/query/format-rows.ts'
import { python } from './python.ts'

interface Report {
  rows: number
  types: [string, string][]
  sameSchema: boolean
  sameInPolars: boolean
  /** Column names and dtypes. */
  inPolars: [string, string][]
  sameInPandas: boolean
  inPandas: [string, string][]
}

/** Writes the result of each query with `convohouse query`; returns what Python reads from it. */
async function reports(env: Record<string, string>, queries: Record<string, string>): Promise<Record<string, Report>> {
  const out = await temporaryFolder()
  for (const [name, sql] of Object.entries(queries))
    for (const ending of ['arrow', 'arrows', 'parquet']) {
      const { code, stderr } = await cli(['query', sql, '-o', join(out, `${name}.${ending}`)], { env })
      expect(code, stderr).toBe(0)
    }
  const script = join(import.meta.dirname, 'read.py')
  return JSON.parse(await python('notebook', [script, out, ...Object.keys(queries)])) as Record<string, Report>
}

it('pandas, Polars and pyarrow read the same types and values from Arrow and Parquet', async () => {
  const { env } = await scene({ conversations: 300 }, { resources: 'all' })
  expect((await cli(['sync'], { env })).code).toBe(0)
  const documented = formatRows(await readFile(join(import.meta.dirname, '..', '..', 'docs', 'formats.md'), 'utf8'))
  const found = await reports(env, {
    conversations: 'FROM conversations ORDER BY ALL',
    local: "SELECT ts, ts AT TIME ZONE 'Asia/Tokyo' AS there FROM conversations ORDER BY ALL",
    documented: `SELECT ${documented.map(({ sql }, at) => `${sql} AS c${at}`).join(', ')}`,
    empty: "SELECT 1 AS a, [1] AS l, {'x': [NULL]} AS s WHERE false",
    nested: `SELECT [NULL, [], ['a', NULL]] AS l, [{'m': MAP {'k': [1::HUGEINT]}, 't': TIME '10:00:00'}, NULL] AS s,
      unnest([[1, 2], NULL, []]) AS u FROM range(3)`,
    dtypes: `SELECT ts, date_trunc('hour', ts) AS began, nullif(is_test, true) AS test, nullif(_record % 3, 0) AS three, sum(_record) OVER () AS total,
      nullif(9007199254740993, _record) AS exact, day, [is_test] AS list, {'n': _record} AS struct FROM conversations ORDER BY ALL`,
    none: 'SELECT ts, is_test, _record, sum(_record) AS total FROM conversations WHERE false GROUP BY ALL',
    many: 'SELECT range AS n, [range] AS l, sum(range) OVER () AS s FROM range(100000) ORDER BY n',
  })
  for (const [name, report] of Object.entries(found))
    expect(report, name).toMatchObject({ sameSchema: true, sameInPolars: true, sameInPandas: true })
  const utc = ['datetime64[us, UTC]', "Datetime(time_unit='us', time_zone='UTC')"]
  const dtypes = ({ inPandas, inPolars }: Report) =>
    Object.fromEntries(inPandas.map(([name, inPandas], at) => [name, [inPandas, inPolars[at]![1]]]))
  expect(dtypes(found.dtypes!)).toEqual({
    ts: utc,
    began: utc,
    test: ['boolean', 'Boolean'],
    three: ['Int64', 'Int64'],
    total: ['Int64', 'Int64'],
    exact: ['Int64', 'Int64'],
    day: ['object', 'Date'],
    list: ['object', 'List(Boolean)'],
    struct: ['object', "Struct({'n': Int64})"],
  })
  expect(dtypes(found.none!)).toEqual({
    ts: utc,
    is_test: ['boolean', 'Boolean'],
    _record: ['Int64', 'Int64'],
    total: ['Int64', 'Int64'],
  })
  expect(found.conversations!.rows).toBeGreaterThan(250)
  expect(found.local!.types).toEqual([
    ['ts', 'timestamp[us, tz=UTC]'],
    ['there', 'timestamp[us]'],
  ])
  expect(found.documented!.types.map(([, type]) => type)).toEqual(documented.map(({ inColumns }) => inColumns))
}, 300_000)
