import { DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { hasKeyOf } from '../../src/publish/package-rows.ts'

type Row = [string | null, string | null]

// Names that are also those of the tables in the condition.
const KEY = ['t', 'k']

const rowsOf = (rows: readonly Row[]): string =>
  `(SELECT unnest(from_json('${JSON.stringify(rows.map(([t, k]) => ({ t, k })))}', '[{"t":"VARCHAR","k":"VARCHAR"}]'), max_depth := 2))`

it('exactly the rows with one of the keys are found, none for a key with NULL', async () => {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
  const connection = await instance.connect()
  const part = fc.constantFrom('', 'a', 'A', 'ä', 'b ', null)
  const rows = fc.array(fc.tuple(part, part), { maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(rows, rows, async (stored, keys) => {
      await connection.run(`CREATE OR REPLACE TABLE stored AS FROM ${rowsOf(stored)}`)
      await connection.run(`CREATE OR REPLACE TABLE changed AS FROM ${rowsOf(keys)}`)
      await connection.run(`DELETE FROM stored t WHERE ${hasKeyOf('changed', KEY)}`)
      const left = (await connection.runAndReadAll('FROM stored')).getRowsJson()
      const isChanged = ([t, k]: Row) => t !== null && k !== null && keys.some(key => key[0] === t && key[1] === k)
      const sorted = (values: readonly unknown[]) => values.map(value => JSON.stringify(value)).sort()
      expect(sorted(left)).toEqual(sorted(stored.filter(row => !isChanged(row))))
    }),
    { numRuns: 60 },
  )
  connection.closeSync()
  instance.closeSync()
})
