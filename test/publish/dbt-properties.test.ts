import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { dbtProperties } from '../../src/publish/dbt-properties.ts'
import { publishedRelations } from '../../src/publish/selection.ts'
import { temporaryFolder } from '../cli/cli-process.ts'
import { inProcess } from '../cli/in-process.ts'
import { readDashboard } from './grafana-dashboards.ts'

interface Table {
  name: string
  data_tests?: unknown[]
  columns: { name: string; description: string; config?: { meta: { pii: string } }; data_tests?: unknown[] }[]
}

interface Properties {
  sources: { name: string; database: string; schema: string; tables: Table[] }[]
  exposures?: { name: string; depends_on: string[] }[]
}

const ROOT = join(import.meta.dirname, '..', '..')

describe('the properties for dbt', () => {
  let properties: Properties
  const table = (name: string) => properties.sources.flatMap(({ tables }) => tables).find(one => one.name === name)!

  beforeAll(async () => {
    properties = parse(await dbtProperties([readDashboard('conversations'), readDashboard('pipeline')])) as Properties
  })

  it('are those of the example (`npm run docs`)', async () => {
    const stored = await readFile(join(ROOT, 'examples/dbt/models/sources.yml'), 'utf8')
    expect(stored).toBe(await dbtProperties([readDashboard('conversations'), readDashboard('pipeline')]))
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

  it('make an exposure of each dashboard that reads a published table, and none of others', () => {
    expect(properties.exposures!.map(({ name }) => name)).toEqual(['convohouse_conversations'])
    expect(properties.exposures![0]!.depends_on).toContain("source('convohouse_marts', 'conversations_daily')")
  })
})

describe('dictionary --dbt', () => {
  it('refuses files that are no dashboards, and flags that do not go together', async () => {
    const folder = await temporaryFolder()
    await writeFile(join(folder, 'other.json'), '{"title": "x"}')
    const refusal = async (...words: string[]) => (await inProcess(['dictionary', ...words], { env: {} })).stderr
    expect(await refusal('--dbt', '--grafana', folder)).toContain('other.json is no dashboard of Grafana')
    expect(await refusal('--dbt', '--grafana', join(folder, 'none'))).toContain('cannot be read')
    expect(await refusal('--grafana', folder)).toContain('--grafana needs --dbt')
    expect(await refusal('conversations', '--dbt')).toContain('for the whole dictionary')
  })
})
