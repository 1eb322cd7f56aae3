// Rows of targets that DuckDB attaches: which rows of changed keys are deleted.
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { expect, it } from 'vitest'
import { deleteRows } from '../../src/publish/attached.ts'
import { statementsOn } from '../../src/warehouse/connection.ts'
import { temporaryFolder } from '../cli/cli-process.ts'

const TIMES = ['-infinity', '0044-03-15 (BC) 00:00:00', '2026-11-01 00:00:00', '2026-11-01 00:00:00.000001', 'infinity']

/** Pairs of stored times and times of changed keys; null for no value. */
it.each([
  [TIMES, TIMES.slice(1, 3)],
  [TIMES, [TIMES[0], TIMES[4]]],
  [[...TIMES, null], [null]],
  [
    [...TIMES, null],
    [null, TIMES[3]],
  ],
  [TIMES, []],
])('rows of changed keys are deleted for any times: %#', async (stored, changed) => {
  const folder = await temporaryFolder()
  const connection = await (await DuckDBInstance.create(':memory:', { threads: '1' })).connect()
  const database = statementsOn(connection)
  await database.run(`SET TimeZone = 'UTC'`)
  const rowsOf = (times: readonly (string | null | undefined)[]) =>
    `SELECT 'a' AS id, unnest([${times.map(time => (time == null ? 'NULL' : `'${time}'`)).join(', ')}]::TIMESTAMPTZ[]) AS seen_at`
  const file = join(folder, 'deletes.parquet')
  await database.run(`CREATE TABLE seen AS ${rowsOf(stored)}; COPY (${rowsOf(changed)}) TO '${file}' (FORMAT parquet)`)
  const columns = ['VARCHAR', 'TIMESTAMPTZ'].map((sqlType, at) => ({
    name: ['id', 'seen_at'][at]!,
    sqlType,
    about: '',
  }))
  await deleteRows(database, 'seen', {
    ...{
      name: 'seen',
      about: '',
      columns,
      key: ['id', 'seen_at'],
      isKeyUnique: false,
      isChild: false,
      timeColumn: null,
    },
    ...{ isWhole: false, deletes: file, rows: [], rowCount: 0, partitions: null },
  })
  const left = await database.rows<{ n: string }>('SELECT count(*)::VARCHAR AS n FROM seen')
  expect(Number(left[0]!.n)).toBe(stored.filter(time => time === null || !changed.includes(time)).length)
})
