// Clients that others wrote read a running `convohouse serve`: pandas, pyarrow, duckdb, and a client generated from /openapi.json.
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Running, startCommand } from '../command.ts'
import { TOKEN_ENV } from '../scene.ts'
import { until } from '../until.ts'
import { folderOf } from './installed.ts'
import { publishedScene } from './published-scene.ts'
import { PYTHON, python } from './python.ts'

const scene = publishedScene([{ name: 'dashboards', type: 'snapshot' }])

let running: Running
let url: string
let token: string

beforeAll(async () => {
  const config = join(scene.home, 'convohouse.yaml')
  const settings = JSON.parse(await readFile(config, 'utf8'))
  const serve = { snapshot: 'dashboards', address: '127.0.0.1:0' }
  await writeFile(config, JSON.stringify({ ...settings, serve }))
  token = (await scene.command('token', 'create', 'notebook', '--scope', 'metrics,sql,content')).trim()
  const env = { PATH: process.env.PATH!, ...TOKEN_ENV }
  running = startCommand(['serve', '--json', '--config', config], { env })
  url = (JSON.parse(await running.firstLine()) as { url: string }).url
})

afterAll(() => running?.kill('SIGTERM'))

const snapshot = () => join(scene.home, 'published', 'dashboards.duckdb')

/** A column of each kind; the last row has only NULLs. */
const COLUMNS: Record<string, [sql: string, type: string, dtype: string, value: string]> = {
  flag: ['true', 'bool', 'boolean', 'True'],
  exact: ['9007199254740993', 'int64', 'Int64', '9007199254740993'],
  ratio: [`'nan'::DOUBLE`, 'double', 'float64', 'nan'],
  amount: [`'-1234567890.1200'::DECIMAL(18, 4)`, 'decimal128(18, 4)', 'object', `Decimal('-1234567890.1200')`],
  day: [`DATE '2024-02-29'`, 'date32[day]', 'object', 'datetime.date(2024, 2, 29)'],
  moment: [
    `TIMESTAMPTZ '2026-01-15 10:00:00.000001-08'`,
    ...(['timestamp[us, tz=UTC]', 'datetime64[us, UTC]'] as const),
    "datetime.datetime(2026, 1, 15, 18, 0, 0, 1, tzinfo=zoneinfo.ZoneInfo(key='UTC'))",
  ],
  there: [
    `TIMESTAMP '1969-12-31 23:59:59.5'`,
    ...(['timestamp[us]', 'datetime64[us]'] as const),
    'datetime.datetime(1969, 12, 31, 23, 59, 59, 500000)',
  ],
  text: [`'é 🙂 ''"' || chr(10)`, 'string', 'str', `'é 🙂 \\'"\\n'`],
  empty: [`''`, 'string', 'str', `''`],
  list: ['[1, NULL]', 'list<element: int32>', 'object', '[1, None]'],
  none: ['[]::VARCHAR[]', 'list<element: string>', 'object', '[]'],
  struct: [`{a: 1.5::DECIMAL(3, 1), b: ['x']}`, '', 'object', `{'a': Decimal('1.5'), 'b': ['x']}`],
}

const SQL = `SELECT ${Object.entries(COLUMNS)
  .map(([name, [sql]]) => `CASE WHEN n = 0 THEN ${sql} END AS "${name}"`)
  .join(', ')} FROM range(2) r(n) ORDER BY n`

interface Read {
  types: [string, string][]
  values: [string, string][]
  dtypes: string[]
  isSame: boolean
  facts: number
  isSameInFile: boolean
  refused: [number, string][]
}

const read = async (): Promise<Read> =>
  JSON.parse(await python('notebook', [join(import.meta.dirname, 'read-serve.py'), url, token, snapshot(), SQL]))

it('pandas and pyarrow read Arrow and Parquet with all types and NULLs, the same rows as duckdb in the file that is served', async () => {
  const found = await read()
  expect(found.values).toEqual(Object.values(COLUMNS).map(([, , , value]) => [value, 'None']))
  const types = Object.fromEntries(found.types)
  expect(found.types.map(([name]) => name)).toEqual(Object.keys(COLUMNS))
  for (const [at, [name, [, type, dtype]]] of Object.entries(COLUMNS).entries())
    expect([name, type && types[name], found.dtypes[at]]).toEqual([name, type, dtype])
  expect(found).toMatchObject({ isSame: true, isSameInFile: true })
  expect(found.facts).toBeGreaterThan(400)
  expect(found.refused).toEqual([
    [400, 'SQL_INVALID'],
    [401, 'NOT_SIGNED_IN'],
  ])
})

it('both read the next publication, too', async () => {
  const health = async () =>
    (await fetch(`${url}/v1/tables`, { headers: { Authorization: `Bearer ${token}` } })).headers
  const before = (await health()).get('Convohouse-As-Of')
  await scene.command('publish', '--refill')
  await until(async () => (await health()).get('Convohouse-As-Of') !== before)
  expect(await read()).toMatchObject({ isSame: true, isSameInFile: true })
})

it('a validator accepts /openapi.json, and a client that is generated from it asks for metrics and understands errors', async () => {
  const file = join(scene.home, 'openapi.json')
  await writeFile(file, await (await fetch(`${url}/openapi.json`)).text())
  expect(await python('openapi', ['-m', 'openapi_spec_validator', file])).toContain('OK')
  const bin = join(folderOf(PYTHON.openapi), 'bin')
  const generate = ['generate', '--path', file, '--meta', 'none', '--output-path', join(scene.home, 'generated')]
  const env = { PATH: [bin, process.env.PATH].join(delimiter) }
  const words = ['-c', 'from openapi_python_client.cli import app; app()', ...generate, '--fail-on-warning']
  await promisify(execFile)(join(bin, 'python'), words, { env })
  const script = join(import.meta.dirname, 'generated-client.py')
  const found = JSON.parse(await python('openapi', [script, scene.home, url, token]))
  const [{ n }] = (await scene.query<{ n: number }>(
    'SELECT count(*) AS n FROM marts.fct_conversations WHERE is_counted',
  )) as [{ n: number }]
  expect(found).toEqual({
    counted: n,
    rows: [[{ n: 42 }], false],
    tables: expect.arrayContaining(['conversations', 'marts.fct_conversations']),
    problems: [
      [400, 'Problem', 'METRIC_UNKNOWN', true],
      [401, 'Problem', 'NOT_SIGNED_IN', true],
    ],
  })
})
