// The tables that are published, with the columns that targets receive and the class of personal data of each, from the dictionary.
import { RECORD_NUMBER } from '../catalog/ddl.ts'
import { PUBLISHED_TABLES, type PublishedTable, publishedMart } from '../warehouse/changes/published-tables.ts'
import { type DescribedColumn, describedTables } from '../warehouse/dictionary/dictionary.ts'
import { marts } from '../warehouse/marts/declarations.ts'
import { publishedModel, type StoredModel } from '../warehouse/models/stored-models.ts'

/** A table of the warehouse and of its targets. */
export interface Relation {
  /** The name of a mart has the schema: `marts.dim_agents`. */
  name: string
  about: string
  columns: readonly DescribedColumn[]
  /** Columns of a mart whose values come from records that are not only of the row's agent. */
  shared: readonly string[]
  /** Key columns: a changed key replaces all rows that have it. */
  key: readonly string[]
  /** No two rows have the same key, whatever is done with personal data. */
  isKeyUnique: boolean
  /** The table whose entries in the change log name the changed keys: itself, or the parent of a child table. */
  published: PublishedTable
}

/** All published tables, each record table before its child tables, the marts, and these models. Record numbers change with every load, so they are not published. */
export async function publishedRelations(models: readonly StoredModel[] = []): Promise<Relation[]> {
  const tables = new Map((await describedTables()).map(table => [table.name, table]))
  const shared = new Map(marts().map(mart => [publishedMart(mart).table, mart.shared]))
  const own = [...PUBLISHED_TABLES, ...marts().map(publishedMart)].flatMap(published =>
    [published.table, ...published.children].map(name => {
      const { about, columns } = tables.get(name)!
      const key = published.key.map(column => column.name)
      const hasPersonalKey = columns.some(column => key.includes(column.name) && column.pii !== 'none')
      return {
        name,
        about,
        columns: columns.filter(column => column.name !== RECORD_NUMBER.name),
        shared: shared.get(name) ?? [],
        key,
        // Two texts may have the same hash.
        isKeyUnique: name === published.table && published.isKeyUnique && !hasPersonalKey,
        published,
      }
    }),
  )
  return [...own, ...models.map(relationOf)]
}

const relationOf = (model: StoredModel): Relation => {
  const { about, key, shared, columns } = model
  const published = publishedModel(model)
  return {
    ...{ name: published.table, about, shared, key, published },
    columns: columns.map(column => ({ ...column, path: null })),
    isKeyUnique: columns.every(({ name, pii }) => !key.includes(name) || pii === 'none'),
  }
}
