// What a target receives of the warehouse: which tables, rows and values, as SQL over a row `t`, and the hash that identifies this choice.
import { createHash } from 'node:crypto'
import { quoteText } from '../catalog/layout.ts'
import type { RowFilter, TargetConfig } from '../config/targets.ts'
import { blockedTables } from '../warehouse/checks/results.ts'
import type { Writer } from '../warehouse/connection.ts'
import type { DescribedColumn } from '../warehouse/dictionary/described.ts'
import { MODELS_SCHEMA } from '../warehouse/models/order.ts'
import { builtModels, tableOf } from '../warehouse/models/stored-models.ts'
import { actionOf, fingerprintOf, needsKey, publishedValue } from './pii.ts'
import { representedValue } from './postgres/representation.ts'
import { publishedRelations, type Relation } from './relations.ts'

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
  /** Hash of everything that decides which rows and values are published: where it differs, the target is written from empty. */
  policy: string
  /** Tables of records that are not published, with their child tables, because a check that blocks them fails (`_checks`). */
  blocked: readonly string[]
}

/** Targets whose values have to be those that PostgreSQL can hold: a lake cannot look for a text with a NUL, or may have its catalog there. */
const DATABASES: ReadonlySet<TargetConfig['type']> = new Set(['postgres', 'ducklake'])

const textList = (values: readonly string[]): string => `(${values.map(quoteText).join(', ')})`

/** SELECT of the agents of the target's organizations. One that the vendor no longer has keeps its rows, but has no agents. */
const agentsOf = (organizations: readonly string[]): string =>
  `SELECT DISTINCT workspace_id, agent_id FROM organization_agents JOIN organizations USING (workspace_id, organization_id)
    WHERE organization_id IN ${textList(organizations)} AND _missing_since IS NULL AND _deleted_at IS NULL`

/** The condition that rows of a table satisfy; undefined for a table that is not published to a filtered target, since no key tells whose its rows are. */
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
  { target: { type, pii, rows }, ids }: { target: TargetConfig; ids: ReadonlySet<string> },
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
    return DATABASES.has(type) ? representedValue(value, column, { ids, isKey }) : value
  }
  const values = relation.columns.map(represented)
  const keyValues = keyColumns.map(represented)
  return [{ ...relation, values, keyValues, hasHashedKey: actions.includes('hash'), where }]
}

/**
 * What `target` receives, by the present rows of `organization_agents`: to be called in the transaction that reads the rows. `key` is the key
 * of hashes, which is needed where the target has any.
 */
export async function selectionFor(
  reader: Pick<Writer, 'rows'>,
  { target, key }: { target: TargetConfig; key: Buffer | null },
): Promise<Selection> {
  const models = await builtModels(reader)
  const published = await publishedRelations(models)
  const ids = new Set(published.flatMap(({ key }) => key))
  const relations = published.flatMap(relation => selected(relation, { target, ids }))
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
  const chosen: unknown[] = [columns, target.rows, agents, needsKey(target.pii) ? fingerprintOf(key!) : null]
  if (target.type === 'parquet') chosen.push(target.partitionBy)
  if ('search' in target && target.search) chosen.push({ search: target.search })
  if ('compress' in target && target.compress) chosen.push({ compress: true })
  const failing = await blockedTables(reader)
  const blocked = new Set(relations.filter(({ name }) => failing.has(name)).map(({ published: { table } }) => table))
  return {
    relations,
    policy: createHash('sha256').update(JSON.stringify(chosen)).digest('hex'),
    blocked: [...blocked].sort(),
  }
}
