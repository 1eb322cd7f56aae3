// The tables that are published, with the columns that targets receive and the class of personal data of each; and what one target receives of
// them: tables, rows and values, as SQL over a row `t`, and the hash that identifies this choice.
import { createHash } from 'node:crypto'
import { RECORD_NUMBER } from '../catalog/ddl.ts'
import { quoteText } from '../catalog/layout.ts'
import type { RowFilter } from '../config/target-settings.ts'
import type { TargetConfig } from '../config/targets.ts'
import { PUBLISHED_TABLES, type PublishedTable, publishedMart } from '../warehouse/changes/published-tables.ts'
import { blockedTables } from '../warehouse/checks/results.ts'
import type { Writer } from '../warehouse/connection.ts'
import { type DescribedColumn, describedTables } from '../warehouse/dictionary/dictionary.ts'
import { marts } from '../warehouse/marts/declarations.ts'
import { MODELS_SCHEMA } from '../warehouse/models/declaration.ts'
import { builtModels, publishedModel, type StoredModel, tableOf } from '../warehouse/models/stored-models.ts'
import { actionOf, fingerprintOf, needsKey, publishedValue } from './pii.ts'

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

export interface SelectedRelation extends Relation {
  /** SQL of the value of each column. */
  values: readonly string[]
  /** SQL of the value of each key column. */
  keyValues: readonly string[]
  /** Two keys may have the same hash, since texts are normalised: its rows are not replaced by key, but all of them. Only small marts are keyed so. */
  hasHashedKey: boolean
  /** SQL of the condition that a row satisfies; null: all rows. */
  where: string | null
}

export interface Selection {
  relations: readonly SelectedRelation[]
  /**
   * Returns the hash of everything that decides which rows and values a target has that was written without the rows of `empty` tables. Where
   * it differs, the target is written from empty.
   */
  policyOf(empty: ReadonlyMap<string, unknown>): string
  /** The failing checks that block tables of this selection, by the table of records. */
  blocked: ReadonlyMap<string, readonly string[]>
}

/** SQL of a value, of that column, as a target can hold it. `ids`: names of the columns that are part of any table's key. */
export type Representation = (
  value: string,
  column: Pick<DescribedColumn, 'name' | 'sqlType'>,
  key: { ids: ReadonlySet<string>; isKey: boolean },
) => string

/** The parts of a type of target (`TargetType`) that decide about its contents. */
interface Contents {
  represent?: Representation
  contents(target: TargetConfig): readonly unknown[]
}

const textList = (values: readonly string[]): string => `(${values.map(quoteText).join(', ')})`

/** Returns the SELECT of the agents of the target's organizations. One that the vendor no longer has keeps its rows, but has no agents. */
const agentsOf = (organizations: readonly string[]): string =>
  `SELECT DISTINCT workspace_id, agent_id FROM organization_agents JOIN organizations USING (workspace_id, organization_id)
    WHERE organization_id IN ${textList(organizations)} AND _missing_since IS NULL AND _deleted_at IS NULL`

/**
 * Returns the condition that rows of a table satisfy; undefined for a table that is not published to a filtered target, since no key tells whose its
 * rows are.
 */
function conditionOf({ key }: Relation, { agents, organizations }: RowFilter): string | undefined {
  if (key.includes('agent_id')) {
    const named = agents.length > 0 ? [`t.agent_id IN ${textList(agents)}`] : []
    const owned = organizations.length > 0 ? [`(t.workspace_id, t.agent_id) IN (${agentsOf(organizations)})`] : []
    return `(${[...named, ...owned].join(' OR ')})`
  }
  if (!key.includes('organization_id') || organizations.length === 0) return undefined
  return `t.organization_id IN ${textList(organizations)}`
}

const isModel = (name: string): boolean => name.startsWith(`${MODELS_SCHEMA}.`)

/** A row filter selects rows of models by their agents alone. */
const isOfAgent = ({ key }: Relation): boolean => key.includes('workspace_id') && key.includes('agent_id')

function selected(
  relation: Relation,
  {
    target: { pii, rows },
    type: { represent },
    ids,
  }: { target: TargetConfig; type: Contents; ids: ReadonlySet<string> },
): SelectedRelation[] {
  const where = rows === null ? null : conditionOf(relation, rows)
  if (where === undefined) return []
  const keyColumns = relation.key.map(name => relation.columns.find(column => column.name === name)!)
  if (rows !== null && isModel(relation.name) && !isOfAgent(relation)) return []
  const actions = keyColumns.map(column => actionOf(column, pii))
  // Without their keys, rows could not be distinguished.
  if (actions.includes('drop')) return []
  // Names of people, teams and organizations may be known from the records of agents that the target does not receive.
  const hidden = rows === null ? [] : relation.shared
  const represented = (column: DescribedColumn) => {
    const value = hidden.includes(column.name) ? `NULL::${column.sqlType}` : publishedValue(column, pii)
    const isKey = relation.key.includes(column.name)
    return represent ? represent(value, column, { ids, isKey }) : value
  }
  const values = relation.columns.map(represented)
  const keyValues = keyColumns.map(represented)
  return [{ ...relation, values, keyValues, hasHashedKey: actions.includes('hash'), where }]
}

/**
 * Returns what `target` receives, by the present rows of `organization_agents`: called in the transaction that reads the rows. `key` is the
 * key of hashes, for a target that has any.
 */
export async function selectionFor(
  reader: Pick<Writer, 'rows'>,
  { target, type, key }: { target: TargetConfig; type: Contents; key: Buffer | null },
): Promise<Selection> {
  const models = await builtModels(reader)
  const published = await publishedRelations(models)
  const ids = new Set(published.flatMap(({ key }) => key))
  const relations = published.flatMap(relation => selected(relation, { target, type, ids }))
  const organizations = target.rows?.organizations ?? []
  const agents = organizations.length === 0 ? [] : await reader.rows(`${agentsOf(organizations)} ORDER BY ALL`)
  // With the SQL of the values: a new version may normalise values in another way before it hashes them.
  const columns = relations.map(({ name, key: keyColumns, columns: of, values, where }) => [
    name,
    of.map((column, index) => [column.name, column.sqlType, values[index]]),
    where,
    // Keys of all other tables are those of this version.
    ...(isModel(name) ? [keyColumns] : []),
    ...models.flatMap(model => (tableOf(model.name) === name && model.tableId !== null ? [model.tableId] : [])),
  ])
  const chosen = [columns, target.rows, agents, needsKey(target.pii) ? fingerprintOf(key!) : null]
  const failing = await blockedTables(reader)
  const blocked = new Map<string, string[]>()
  for (const {
    name,
    published: { table },
  } of relations)
    if (failing.has(name)) blocked.set(table, [...(blocked.get(table) ?? []), ...failing.get(name)!])
  return {
    relations,
    policyOf(empty) {
      const decided = JSON.stringify([...chosen, type.contents(target), [...empty.keys()].sort()])
      return createHash('sha256').update(decided).digest('hex')
    },
    blocked,
  }
}
