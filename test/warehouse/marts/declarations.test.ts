import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tablesOf } from '../../../src/catalog/ddl.ts'
import { layoutOf } from '../../../src/catalog/layout.ts'
import { RECORD_TYPES } from '../../../src/catalog/records.ts'
import { mayCollide } from '../../../src/publish/pii.ts'
import { marts } from '../../../src/warehouse/marts/declarations.ts'
import { refreshMarts } from '../../../src/warehouse/marts/refresh.ts'
import { rowsHere } from '../../../src/warehouse/query/rows.ts'
import { temporaryWarehouse } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

describe('the header of a mart', () => {
  it.each(marts())('names columns and kinds that exist: $name', mart => {
    const { grain, groups, publishedBy, month, joins, shared, refresh, builtFrom, use, columns } = mart
    for (const field of [...grain, ...builtFrom, use]) expect(field).toMatch(/./)
    expect(Math.min(grain.length, builtFrom.length)).toBeGreaterThan(0)
    const byName = new Map(columns.map(column => [column.name, column]))
    expect(byName.size).toBe(columns.length)
    const keys = [...grain, ...groups, ...publishedBy]
    for (const key of keys)
      expect(['VARCHAR', 'TIMESTAMPTZ', 'DATE', 'INTEGER'], key).toContain(byName.get(key)!.sqlType)
    for (const name of [...joins.map(({ column }) => column), ...shared]) expect(byName.has(name), name).toBe(true)
    for (const { name, pii, about } of columns) {
      expect(['none', 'identity', 'content', 'device', 'staff', 'label', 'word', 'code'], name).toContain(pii)
      expect(about, name).toMatch(/./)
    }
    if (month !== null) expect(byName.get(month)!.sqlType).toBe('DATE')
    expect(['conversations', 'groups', 'whole']).toContain(refresh)
    if (refresh !== 'groups') return expect(groups).toEqual(grain)
    // The log of such a mart names no rows, so it could not name the partition of a row.
    if (month !== null) expect(publishedBy).toContain(month)
    // Two texts may have the same hash: with a hashed key, a target would write all rows with each publication.
    for (const key of publishedBy) expect(mayCollide(byName.get(key)!), key).toBe(false)
  })
})

describe('each mart', () => {
  it('declares the columns that DuckDB finds in its SELECT', async () => {
    const { writer } = app.warehouse
    await refreshMarts(writer)
    for (const { name, select, columns } of marts()) {
      const described = await writer.rows(
        `SELECT column_name AS name, replace(column_type, 'TIMESTAMP WITH TIME ZONE', 'TIMESTAMPTZ') AS "sqlType" FROM (DESCRIBE ${select})`,
      )
      expect(described, name).toEqual(columns.map(({ name: column, sqlType }) => ({ name: column, sqlType })))
    }
  })

  it('joins keys of other marts', () => {
    const grains = Object.fromEntries(marts().map(({ name, grain }) => [name, grain]))
    const joins = marts().flatMap(mart => mart.joins)
    expect(joins.length).toBeGreaterThan(3)
    for (const { mart, key } of joins) expect(grains[mart]).toEqual(['workspace_id', key])
  })

  it('has a name that no table has', () => {
    const tables = RECORD_TYPES.flatMap(record => tablesOf(layoutOf(record))).map(({ name }) => name)
    expect(marts().filter(({ name }) => tables.includes(name))).toEqual([])
  })

  it('has columns whose names are no words of SQL that a query must quote', async () => {
    const words = await app.warehouse.writer.rows<{ word: string }>(
      `SELECT keyword_name AS word FROM duckdb_keywords() WHERE keyword_category = 'reserved'`,
    )
    const names = marts().flatMap(({ columns }) => columns.map(({ name }) => name))
    expect(names.filter(name => words.some(({ word }) => word === name))).toEqual([])
  })
})

describe('docs/marts.md', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/marts.md'), 'utf8')

  it('lists every mart', () => {
    const table = page.split('\n\n').find(part => part.startsWith('| Mart |'))!
    const listed = [...table.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell]) =>
      [...cell!.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    )
    expect(listed.sort()).toEqual(
      marts()
        .map(({ name }) => name)
        .sort(),
    )
  })
})

describe('the examples of a mart and of docs/marts.md', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/marts.md'), 'utf8')
  const shown = [...page.matchAll(/```sql\n([^`]+)```/g)].map(([, sql]) => sql!)

  it('are queries that a user can run', async () => {
    const rows = rowsHere(app.warehouse.instance, { timeoutMs: 10_000, signal: new AbortController().signal })
    for (const { name, example } of marts()) expect(example, name).toContain(`marts.${name}`)
    const queries = [...shown, ...marts().map(({ example }) => example)].flatMap(sql =>
      sql.split(/;\s*/).filter(Boolean),
    )
    for (const query of queries) expect(await rows(query), query).toEqual([])
  })
})
