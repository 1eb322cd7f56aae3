import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tablesOf } from '../../../src/catalog/ddl.ts'
import { layoutOf } from '../../../src/catalog/layout.ts'
import { RECORD_TYPES } from '../../../src/catalog/records.ts'
import { marts, parseMart } from '../../../src/warehouse/marts/declarations.ts'
import { refreshMarts } from '../../../src/warehouse/marts/refresh.ts'
import { rowsHere } from '../../../src/warehouse/query/rows.ts'
import { temporaryWarehouse } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

const HEADER = `-- one: one row for each thing.
-- Grain: id
-- Refresh: whole
-- Built from: agents
-- Joins: name = other.person
-- Shared: name
-- Use: for
-- tests
-- Example:
-- SELECT id
-- FROM marts.one;
-- Columns:
--   id    VARCHAR  none   Key
--   name  VARCHAR  staff  Name, or not
SELECT 1`

const parsed = (from = '', to = '') => parseMart({ name: 'one', sql: HEADER.replace(from, to) })

describe('the header of a mart', () => {
  it('is read with its key, columns, sources and use', () => {
    expect(parsed()).toEqual({
      ...{ name: 'one', about: 'one row for each thing', grain: ['id'], month: null, refresh: 'whole' },
      ...{ groups: ['id'], publishedBy: ['id'] },
      ...{
        builtFrom: ['agents'],
        rowsOf: [],
        joins: [{ column: 'name', mart: 'other', key: 'person' }],
        shared: ['name'],
        use: 'for tests',
        example: 'SELECT id\nFROM marts.one;',
        select: 'SELECT 1',
      },
      columns: [
        { name: 'id', sqlType: 'VARCHAR', pii: 'none', about: 'Key' },
        { name: 'name', sqlType: 'VARCHAR', pii: 'staff', about: 'Name, or not' },
      ],
    })
  })

  it.each([
    ['-- Use: for\n-- tests\n', '', 'sql/marts/one.sql: the header has no "Use"'],
    ['one: one', 'two: one', 'the header begins with "one: "'],
    ['Grain: id', 'Grain: key', 'key is no column'],
    ['Grain: id', 'Month: day\n-- Grain: id', 'day is no column'],
    ['name = other.person', 'other.person', '"other.person" is not of the form "column = mart.column"'],
    ['name = other', 'nobody = other', 'nobody is no column'],
    ['id    VARCHAR', 'id    DOUBLE', 'a key column is VARCHAR, TIMESTAMPTZ, DATE, INTEGER; id is not'],
    ['Built', 'Groups: id\n-- Built', 'only a mart of groups has "Groups"'],
    ['whole', 'groups\n-- Month: id\n-- Published by: name', 'id is not among the columns that it is published by'],
    ['whole', 'groups\n-- Published by: name', 'name is personal: the mart is published by other columns'],
    ['whole', 'hourly', '"Refresh" is one of conversations, groups, whole'],
    [
      'staff  Name',
      'secret  Name',
      'name has the PII class secret; it is one of none, identity, content, device, staff',
    ],
    ['none   Key', 'Key', '"id    VARCHAR  Key" is not a name, a type, a PII class and a description'],
    ['--   name', '--   id', 'id is declared twice'],
  ])('with %j replaced by %j is refused', (from, to, message) => {
    expect(() => parsed(from, to)).toThrow(message)
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
    const listed = [...page.matchAll(/^\| (\[.*?) \|/gm)].flatMap(([, cell]) =>
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
