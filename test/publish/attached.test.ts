import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { deleteRows } from '../../src/publish/attached.ts'
import type { PackagedTable } from '../../src/publish/package.ts'
import { statementsOn } from '../../src/warehouse/connection.ts'

const column = (name: string, sqlType: string) => ({ name, sqlType, about: '' })

const TABLE = {
  ...{ name: 'seen', about: '', isKeyUnique: false, isChild: false, timeColumn: null, isWhole: false, isFinal: false },
  columns: [
    column('id', 'VARCHAR'),
    column('seen_at', 'TIMESTAMPTZ'),
    column('day', 'DATE'),
    column('note', 'VARCHAR'),
  ],
  ...{ rows: [], rowCount: 0, partitions: null },
} satisfies Partial<PackagedTable>

const TIMES = [
  '-infinity',
  '0044-03-15 (BC) 00:00:00',
  '1969-12-31 23:59:59.999999',
  '2026-11-01 00:00:00',
  '2026-11-01 00:00:00.000001',
  '294246-12-31 23:59:59',
  'infinity',
]
const DAYS = ['-infinity', '0044-03-15 (BC)', '2026-10-31', '2026-11-01', '5881580-07-10', 'infinity']

it('rows of changed keys are deleted whatever their times', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'convohouse-attached-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
  const connection = await instance.connect()
  const database = statementsOn(connection)
  await database.run(`SET TimeZone = 'UTC'`)
  const row = fc.record({
    id: fc.constantFrom('a', 'b'),
    seen_at: fc.option(fc.constantFrom(...TIMES)),
    day: fc.option(fc.constantFrom(...DAYS)),
  })
  const rows = fc.array(row, { maxLength: 20 })
  const key = fc.subarray(['id', 'seen_at', 'day'] as const, { minLength: 1 })
  const file = join(folder, 'deletes.parquet')
  const literal = (value: string | null) => (value === null ? 'NULL' : `'${value}'`)
  const selectOf = (values: { id: string; seen_at: string | null; day: string | null }[]) =>
    `SELECT id::VARCHAR AS id, seen_at::TIMESTAMPTZ AS seen_at, day::DATE AS day FROM (VALUES ('', NULL, NULL)${values
      .map(({ id, seen_at, day }) => `, (${literal(id)}, ${literal(seen_at)}, ${literal(day)})`)
      .join('')}) v(id, seen_at, day) WHERE id <> ''`
  await fc.assert(
    fc.asyncProperty(rows, rows, key, async (stored, changed, names) => {
      await database.run(`CREATE OR REPLACE TABLE seen AS ${selectOf(stored)}`)
      await database.run(`COPY (SELECT ${names.join(', ')} FROM (${selectOf(changed)})) TO '${file}' (FORMAT parquet)`)
      await deleteRows(database, 'seen', { ...TABLE, key: names, deletes: file })
      const left = await database.rows<{ n: string }>('SELECT count(*)::VARCHAR AS n FROM seen')
      const isChanged = (one: (typeof stored)[number]) =>
        changed.some(other => names.every(name => one[name] !== null && one[name] === other[name]))
      expect(Number(left[0]!.n)).toBe(stored.filter(one => !isChanged(one)).length)
    }),
    { numRuns: 80 },
  )
  connection.closeSync()
  instance.closeSync()
})
