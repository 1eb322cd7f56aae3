import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { dbtProperties } from '../../src/publish/dbt-properties.ts'
import { publishedRelations } from '../../src/publish/selection.ts'
import { inProcess } from '../cli/in-process.ts'

interface Table {
  name: string
  data_tests?: unknown[]
  columns: { name: string; description: string; config?: { meta: { pii: string } }; data_tests?: unknown[] }[]
}

interface Properties {
  sources: { name: string; database: string; schema: string; tables: Table[] }[]
}

const ROOT = join(import.meta.dirname, '..', '..')

describe('the properties for dbt', () => {
  let properties: Properties
  const table = (name: string) => properties.sources.flatMap(({ tables }) => tables).find(one => one.name === name)!

  beforeAll(async () => {
    properties = parse(await dbtProperties()) as Properties
  })

  it('are those of the example (`npm run docs`)', async () => {
    const stored = await readFile(join(ROOT, 'examples/dbt/models/sources.yml'), 'utf8')
    expect(stored).toBe(await dbtProperties())
  })

  it('have every published table and column once, described', async () => {
    const [records, marts] = properties.sources
    const found = [
      ...records!.tables.filter(({ name }) => name !== '_publication'),
      ...marts!.tables.map(one => ({ ...one, name: `marts.${one.name}` })),
    ]
    expect(found.map(({ name }) => name)).toEqual((await publishedRelations()).map(({ name }) => name))
    for (const { name, columns } of found) {
      expect(new Set(columns.map(column => column.name)).size, name).toBe(columns.length)
      for (const { description } of columns) expect(description).toMatch(/\w/)
    }
  })

  it('test keys: each column, and together where no two rows have the same key', () => {
    const { data_tests: tests, columns } = table('conversations')
    const key =
      '(cast(workspace_id as varchar) || chr(31) || cast(agent_id as varchar) || chr(31) || cast(conversation_id as varchar))'
    expect(tests).toEqual([{ unique: { arguments: { column_name: key } } }])
    expect(columns.filter(({ data_tests }) => data_tests).map(({ name }) => name)).toEqual([
      'workspace_id',
      'agent_id',
      'conversation_id',
    ])
    expect(table('conversation_tags').data_tests).toBeUndefined()
    expect(table('fct_csat').columns.find(({ name }) => name === 'agent_id')!.data_tests).toContainEqual({
      relationships: { arguments: { to: "source('convohouse_marts', 'dim_agents')", field: 'agent_id' } },
    })
  })

  it('name the class of personal data', () => {
    const email = table('conversations').columns.find(({ name }) => name === 'user_email')
    expect(email!.config).toEqual({ meta: { pii: 'identity' } })
  })
})

it('dictionary --dbt is for the whole dictionary', async () => {
  const { stderr } = await inProcess(['dictionary', 'conversations', '--dbt'], { env: {} })
  expect(stderr).toContain('for the whole dictionary')
})
