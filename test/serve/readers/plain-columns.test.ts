// A real snapshot with a canary in every column of personal data, read without access to personal data.

import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { openSnapshotReaders, type SnapshotReaders } from '../../../src/serve/readers/snapshot-readers.ts'
import { describedTables } from '../../../src/warehouse/dictionary/dictionary.ts'
import { CANARY, personalColumns, plantCanaries } from '../../publish/canaries.ts'
import { newTarget, publishTo } from '../../publish/published.ts'
import { temporaryWarehouse } from '../../warehouse/temporary-warehouse.ts'
import { ENTRY } from './snapshot-file.ts'

const app = temporaryWarehouse()

async function rowsOf(readers: SnapshotReaders, sql: string, withContent: boolean): Promise<Record<string, unknown>[]> {
  const limits = {
    accept: 'application/json',
    maxRows: 1_000,
    timeoutMs: 60_000,
    caller: null,
    signal: new AbortController().signal,
  }
  const { status, body } = await readers.query({ ...limits, sql, withContent })
  const answer = await text(body)
  expect([status, sql, answer]).toEqual([200, sql, answer])
  return JSON.parse(answer)
}

it('no text of a person is visible without access to personal data, and all are with it', async () => {
  const target = newTarget(app.home)
  await plantCanaries(app.warehouse.writer)
  await publishTo(app, target)
  const plain = (await describedTables()).map(({ name, columns }) => [
    name,
    columns.filter(({ pii }) => pii === 'none').map(column => column.name),
  ])
  const readers = await openSnapshotReaders({
    ...{ file: target.path, folder: join(app.home, 'serve'), entry: ENTRY, plainColumns: Object.fromEntries(plain) },
    ...{ memoryLimit: '512MB', threads: 1, maxSpill: '1GB' },
  })
  const seen = async (withContent: boolean) => {
    const database = withContent ? 'snapshot' : 'memory'
    const tables = (await rowsOf(readers, 'SHOW ALL TABLES', withContent)).filter(found => found.database === database)
    const each = tables.map(
      ({ schema, name }) =>
        `SELECT '${schema === 'main' ? name : `${schema}.${name}`}' AS name FROM ${schema}."${name}" AS t WHERE contains(lower(t::VARCHAR), '${CANARY}')`,
    )
    const found = await rowsOf(readers, `SELECT DISTINCT name FROM (${each.join(' UNION ALL ')})`, withContent)
    return { tables: tables.length, found: found.map(({ name }) => name) }
  }
  const personal = new Set((await personalColumns()).map(name => name.split('.').slice(0, -1).join('.')))
  const [all, without] = [await seen(true), await seen(false)]
  expect(all.found.sort()).toEqual([...personal].sort())
  expect(without.tables).toBeGreaterThan(40)
  expect(without.found).toEqual([])
  await readers.close()
})
