import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { commentsOf, describedTables } from '../../../src/warehouse/dictionary/dictionary.ts'
import { diagramPage, dictionaryPage } from '../../../src/warehouse/dictionary/markdown.ts'
import { inProcess } from '../../cli/in-process.ts'
import { temporaryWarehouse } from '../temporary-warehouse.ts'

const page = (name: string) => readFileSync(join(import.meta.dirname, '../../../docs', name), 'utf8')

const PII = ['none', 'identity', 'content', 'device', 'staff', 'label', 'word', 'code']

describe('the data dictionary', () => {
  const app = temporaryWarehouse()

  it('and the diagrams are the pages in docs (`npm run docs`)', async () => {
    expect(page('data-dictionary.md')).toBe(await dictionaryPage())
    expect(page('er-diagram.md')).toBe(diagramPage())
  })

  it('has every table and view of a warehouse, with its columns and types', async () => {
    const stored = await app.warehouse.writer.rows<{ name: string; columns: string[] }>(
      `SELECT if(schema_name = 'main', '', schema_name || '.') || table_name AS name, list(column_name || ' ' || replace(data_type, 'TIMESTAMP WITH TIME ZONE', 'TIMESTAMPTZ') ORDER BY column_name) AS columns FROM duckdb_columns()
       WHERE database_name = current_database() AND NOT internal AND table_name NOT IN (SELECT table_name FROM duckdb_tables() WHERE temporary)
       GROUP BY ALL`,
    )
    const inWarehouse = Object.fromEntries(stored.map(({ name, columns }) => [name, columns]))
    const described = (await describedTables()).map(({ name, columns }) => [
      name,
      columns.map(column => `${column.name} ${column.sqlType}`).sort(),
    ])
    expect(Object.fromEntries(described)).toEqual(
      Object.fromEntries(Object.entries(inWarehouse).map(([name, columns]) => [name, [...columns].sort()])),
    )
  })

  it('describes every table and column, and classes personal data', async () => {
    for (const { name, about, columns } of await describedTables()) {
      expect(about, name).toMatch(/^[A-Za-z].*[.:)]$/)
      for (const column of columns) {
        expect(column.about, `${name}.${column.name}`).toMatch(/\w/)
        expect(column.about, `${name}.${column.name}`).not.toContain('PII')
        expect(PII, `${name}.${column.name}`).toContain(column.pii)
      }
    }
  })

  it('gives the comments of a table for its copies', async () => {
    const comments = await commentsOf('conversation_observations')
    expect(comments!.table).toMatch(/^One row for each sighting of a conversation/)
    expect(comments!.columns).toMatchObject({
      state: 'State (class word)',
      chat_assigned_to: 'Person to whom the chat was assigned (class staff)',
    })
    expect((await commentsOf('conversations'))!.columns.user_email).toContain('(class identity)')
    expect(await commentsOf('nothing')).toBeNull()
  })
})

describe('convohouse dictionary', () => {
  it('prints one table, as text or JSON', async () => {
    const { code, stdout } = await inProcess(['dictionary', 'conversations'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^conversations \(table\): .*\.\n\ncolumn +type +class +field of the API +description\n/)
    expect(stdout).toMatch(/\nuser_email +VARCHAR +identity +userEmail +\w/)
    const { tables } = JSON.parse((await inProcess(['dictionary', 'coverage', '--json'])).stdout)
    expect(tables).toMatchObject([
      {
        name: 'coverage',
        kind: 'view',
        columns: [{ name: 'workspace_id', pii: 'none' }, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}],
      },
    ])
  })

  it('prints a mart with or without its schema, since no table has its name', async () => {
    const { stdout } = await inProcess(['dictionary', 'marts.freshness'])
    expect(stdout).toMatch(/^marts\.freshness \(table\): /)
    expect((await inProcess(['dictionary', 'freshness'])).stdout).toBe(stdout)
  })

  it('refuses an unknown table, and names all in order', async () => {
    const { code, stderr } = await inProcess(['dictionary', 'conversation'])
    expect([code, stderr]).toEqual([2, expect.stringContaining('The dictionary has no table "conversation"')])
    const names = /It has: (.*)\./.exec(stderr)![1]!.split(', ')
    expect(names).toEqual([...names].sort())
    expect(names).toContain('marts.fct_csat')
  })
})
