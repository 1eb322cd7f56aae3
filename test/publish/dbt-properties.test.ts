import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { dbtProperties } from '../../src/publish/dbt-properties.ts'
import { publishedRelations } from '../../src/publish/selection.ts'
import { inProcess } from '../cli/in-process.ts'

interface Properties {
  sources: { tables: { name: string; columns: { name: string; description: string }[] }[] }[]
}

const ROOT = join(import.meta.dirname, '..', '..')

describe('the properties for dbt', () => {
  let properties: Properties

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
})

it('dictionary --dbt is for the whole dictionary', async () => {
  const { stderr } = await inProcess(['dictionary', 'conversations', '--dbt'], { env: {} })
  expect(stderr).toContain('for the whole dictionary')
})
