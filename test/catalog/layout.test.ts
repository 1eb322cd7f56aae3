import { describe, expect, it } from 'vitest'
import { tablesOf } from '../../src/catalog/ddl.ts'
import { layoutOf, quoteName, quoteText } from '../../src/catalog/layout.ts'
import { RECORD_TYPES } from '../../src/catalog/records.ts'
import { snakeCase } from '../../src/catalog/shape.ts'

describe('a layout', () => {
  it.each(RECORD_TYPES)('of $name has distinct column names in each table', record => {
    for (const table of tablesOf(layoutOf(record))) {
      const names = table.columns.map(column => column.name.toLowerCase())
      expect(
        names.filter((name, index) => names.indexOf(name) !== index),
        table.name,
      ).toEqual([])
    }
  })

  it('has distinct table names over all record types', () => {
    const names = RECORD_TYPES.flatMap(record => tablesOf(layoutOf(record))).map(table => table.name)
    expect(new Set(names).size).toBe(names.length)
  })
})

describe('a name', () => {
  it.each([
    ['userEmail', 'user_email'],
    ['firstMessageTS', 'first_message_ts'],
    ['ID', 'id'],
    ['userID', 'user_id'],
    ['listenUrlUNIX', 'listen_url_unix'],
    ['overdueECD', 'overdue_ecd'],
    ['satisfaction10', 'satisfaction10'],
    ['linkedIn', 'linked_in'],
  ])('%s becomes the column %s', (key, column) => expect(snakeCase(key)).toBe(column))

  it('is quoted with its own quotes escaped', () => {
    expect(quoteName('a"b')).toBe('"a""b"')
    expect(quoteText("it's")).toBe("'it''s'")
  })
})
