// Concurrent work on the connection that writes: a sync queries and loads while events arrive.
import { describe, expect, it } from 'vitest'
import { rounds } from '../tier.ts'
import { temporaryWarehouse } from './temporary-warehouse.ts'

const opened = temporaryWarehouse()
const ROUNDS = rounds('FAULT_RUNS', { usual: 40, deep: 3_000 })

describe('a sync while events arrive', () => {
  it('runs its queries, and the events are loaded', async () => {
    const { writer } = opened.warehouse
    const failures = new Set<string>()
    const again = async (work: () => Promise<unknown>) => {
      for (let round = 0; round < ROUNDS; round++) await work().catch((error: Error) => failures.add(error.message))
    }
    const rows = Array.from({ length: 200 }, () => ['x'.repeat(50)])
    await Promise.all([
      again(() => writer.rows('SELECT 1')),
      again(() => writer.rows('SELECT count(*) FROM _runs')),
      again(() => writer.rows('SELECT sum(range) FROM range(2000)')),
      again(async () => {
        await writer.run('CREATE OR REPLACE TEMP TABLE texts (a VARCHAR)')
        await writer.appendTexts('texts', rows)
      }),
    ])
    expect([...failures]).toEqual([])
    expect(await writer.rows('SELECT count(*)::INTEGER AS n FROM texts')).toEqual([{ n: rows.length }])
  })
})

it('a query makes the process neither download nor load an extension', async () => {
  const settings = await opened.warehouse.writer.rows(
    `SELECT value FROM duckdb_settings() WHERE name IN ('autoinstall_known_extensions', 'autoload_known_extensions')`,
  )
  expect(settings).toEqual([{ value: 'false' }, { value: 'false' }])
})
