import { expect, it } from 'vitest'
import { RECORD_NUMBER } from '../../src/catalog/ddl.ts'
import { publishedRelations } from '../../src/publish/selection.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'

const app = temporaryWarehouse()

it('every column of every published table has a class of personal data, and key columns of records have none', async () => {
  const rows = await app.warehouse.writer.rows<{ table: string; name: string; type: string }>(`
    SELECT if(schema_name = 'main', '', schema_name || '.') || table_name AS "table", column_name AS name, replace(data_type, 'TIMESTAMP WITH TIME ZONE', 'TIMESTAMPTZ') AS type FROM duckdb_columns()
    WHERE database_name = 'warehouse' AND column_name <> '${RECORD_NUMBER.name}'`)
  const relations = await publishedRelations()
  expect(relations.length).toBeGreaterThan(20)
  for (const { name, columns, key } of relations) {
    const stored = rows.filter(row => row.table === name).map(row => [row.name, row.type])
    expect(columns.map(column => [column.name, column.sqlType]).sort(), name).toEqual(stored.sort())
    for (const { name: column, pii } of columns)
      expect(
        ['none', 'identity', 'content', 'device', 'staff', 'label', 'word', 'code'],
        `${name}.${column}`,
      ).toContain(pii)
    if (!name.startsWith('marts.'))
      expect(columns.filter(column => key.includes(column.name) && column.pii !== 'none')).toEqual([])
  }
})
