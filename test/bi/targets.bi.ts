// Other tools read what is published: `npm run test:bi`. The publication has conversations with and without each value, in several months.
import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { ParquetTarget } from '../../src/config/targets/parquet.ts'
import type { SnapshotTarget } from '../../src/config/targets/snapshot.ts'
import { DEFAULT_PARTITION } from '../../src/publish/partitions.ts'
import { newTarget, publishTo, rowsIn } from '../publish/published.ts'
import { newParquet, ODD_IDS } from '../publish/published-parquet.ts'
import { freshWindow, landConversations } from '../warehouse/landed-pages.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'
import { DUCKDB, type PythonEnvironment, python } from './python.ts'

const app = temporaryWarehouse()
let snapshot: SnapshotTarget
let compressed: SnapshotTarget
let parquet: ParquetTarget

const READ_BY_DUCKDB = `import duckdb; rows = [{"agent": row[0]} for row in
  duckdb.sql(f"SELECT agent FROM read_parquet('{sys.argv[1]}/**/*.parquet', hive_partitioning = true)").fetchall()]`

const OCTOBER = Date.UTC(2026, 9, 5, 23, 59, 59, 123)

beforeAll(async () => {
  const place = app.workspace()
  const records = [
    { ID: 'a', ts: OCTOBER, tags: ['x', 'ü'], messagesNum: 9_007_199_254_740_991, isTest: true, userName: 'Ann' },
    { ID: 'b', ts: Date.UTC(2026, 10, 1), tags: ['y'], messagesNum: 2 },
    { ID: 'c', userName: 'Cy' },
  ]
  await place.load(await landConversations(place.landing, { records }))
  snapshot = newTarget(app.home)
  parquet = newParquet(app.home)
  compressed = newTarget(app.home, { compress: true })
  for (const target of [snapshot, compressed, parquet]) await publishTo(app, target, { verify: true })
}, 600_000)

/** Runs a script of this folder and returns the JSON that it prints. */
async function printed<T>(environment: PythonEnvironment, script: string, args: readonly string[]): Promise<T> {
  const text = await python(environment, [join(import.meta.dirname, script), ...args])
  return JSON.parse(text.trim().split('\n').at(-1)!) as T
}

const COLUMNS = ['conversation_id', 'ts', 'day', 'messages_num', 'is_test', 'user_name', 'month']

const ROWS = [
  ['a', '2026-10-05T23:59:59.123000+00:00', '2026-10-05', 9_007_199_254_740_991, true, 'Ann', '2026-10'],
  ['b', '2026-11-01T00:00:00+00:00', '2026-11-01', 2, null, null, '2026-11'],
  ['c', null, null, null, null, 'Cy', null],
]

interface Read {
  rows: unknown[][]
  types: Record<string, string>
  /** Column names of a table without rows. */
  empty: string[]
  emptyRows: number
  /** Number of rows by table. */
  counts: Record<string, number>
}

describe('a target of Parquet files', () => {
  const tables = [
    ...['conversations', 'conversation_tags', 'conversation_observations', 'leads', 'agents', 'organizations'],
    ...['marts/fct_conversations', 'marts/conversations_daily', 'marts/dim_people', 'marts/dim_calendar'],
  ]

  /** Returns the number of rows of each table in the snapshot, which has the same tables. */
  const countsInSnapshot = async () =>
    Object.fromEntries(
      await Promise.all(
        tables.map(async table => {
          const [row] = await rowsIn(snapshot.path, `SELECT count(*)::INT FROM ${table.replace('/', '.')}`)
          return [table, row![0]]
        }),
      ),
    )

  it.each([
    ['pyarrow', 'notebook'],
    ['pandas', 'notebook'],
    ['polars', 'notebook'],
    ['duckdb', 'duckdb-1.1.3'],
    ['duckdb', 'duckdb-2.0.0'],
    ['spark', 'spark'],
  ] as const)(
    'is read by %s (%s) with the same types and values',
    async (reader, environment) => {
      const folder = await realpath(join(parquet.path, 'current'))
      const found = await printed<Read>(environment, 'read-targets.py', [reader, folder, COLUMNS.join(), tables.join()])
      // DuckDB 1.1 reads the name of the partition without a month as text.
      const isOld = environment === 'duckdb-1.1.3'
      const last = [...ROWS[2]!.slice(0, -1), isOld ? DEFAULT_PARTITION : null]
      expect(found.rows).toEqual([...ROWS.slice(0, 2), last])
      expect(COLUMNS.map(name => found.types[name])).toEqual(TYPES[reader])
      expect(found.empty).toEqual(expect.arrayContaining(['workspace_id', 'lead_name', 'month']))
      expect(found.emptyRows).toBe(0)
      expect(found.counts).toEqual(await countsInSnapshot())
    },
    900_000,
  )
})

it.each([
  [
    'notebook',
    'import pyarrow.dataset as d; rows = d.dataset(sys.argv[1], partitioning="hive").to_table().to_pylist()',
  ],
  ['duckdb-1.1.3', READ_BY_DUCKDB],
  ['duckdb-2.0.0', READ_BY_DUCKDB],
] as const)(
  'agents as folders are read as their ids by %s',
  async (environment, read) => {
    const place = app.workspace()
    for (const agentId of ODD_IDS)
      await place.load(
        await landConversations(place.landing, {
          records: [{ ID: agentId, ts: OCTOBER }],
          window: freshWindow({ agentId }),
        }),
      )
    const rows = { workspaces: [place.id], agents: ODD_IDS, organizations: [] }
    const target = newParquet(app.home, { partitionBy: ['agent', 'month'], rows })
    await publishTo(app, target, { verify: true })
    const code = `import sys, json; ${read}; print(json.dumps(sorted({row["agent"] for row in rows})))`
    const folder = join(await realpath(join(target.path, 'current')), 'conversations')
    expect(JSON.parse((await python(environment, ['-c', code, folder])).trim())).toEqual([...ODD_IDS].sort())
  },
  300_000,
)

/** Column types by reader, in the order of the columns. */
const TYPES: Record<string, string[]> = {
  pyarrow: ['string', 'timestamp[us, tz=UTC]', 'date32[day]', 'int64', 'bool', 'string', 'string'],
  pandas: ['str', 'datetime64[us, UTC]', 'object', 'Int64', 'boolean', 'str', 'str'],
  polars: ['String', "Datetime(time_unit='us', time_zone='UTC')", 'Date', 'Int64', 'Boolean', 'String', 'String'],
  duckdb: ['VARCHAR', 'TIMESTAMP WITH TIME ZONE', 'DATE', 'BIGINT', 'BOOLEAN', 'VARCHAR', 'VARCHAR'],
  spark: ['string', 'timestamp', 'date', 'bigint', 'boolean', 'string', 'string'],
}

it.each(DUCKDB)(
  'a snapshot with compressed texts is opened by DuckDB %s for Python, unless that is 1.1',
  async (version, environment) => {
    const code = `import duckdb, sys
with duckdb.connect(sys.argv[1], read_only=True) as c: print(c.sql("SELECT count(*) FROM conversations").fetchall())`
    const reading = python(environment, ['-c', code, compressed.path])
    if (version.startsWith('1.1')) await expect(reading).rejects.toThrow(/not supported|newer|storage|version/i)
    else expect(await reading).toContain('[(3,)]')
  },
  300_000,
)
