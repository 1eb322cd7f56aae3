// The published tables, with the columns that targets receive and each column's class of personal data. For one target:
// its tables, rows and values, as SQL over a row `t`, and the hash that identifies this selection.
import { createHash } from 'node:crypto'
import { RECORD_NUMBER } from '../catalog/ddl.ts'
import { quotedTable, quoteText } from '../catalog/layout.ts'
import { actionsIn, policiesOf } from '../config/target-settings.ts'
import type { TargetConfig } from '../config/targets.ts'
import { ConvohouseError } from '../core/errors.ts'
import { PUBLISHED_TABLES, type PublishedTable, publishedMart } from '../warehouse/changes/published-tables.ts'
import { blockedTables } from '../warehouse/checks/results.ts'
import type { Writer } from '../warehouse/connection.ts'
import { type DescribedColumn, describedTables } from '../warehouse/dictionary/dictionary.ts'
import { marts } from '../warehouse/marts/declarations.ts'
import { MODELS_SCHEMA } from '../warehouse/models/declaration.ts'
import { builtModels, publishedModel, type StoredModel, tableOf } from '../warehouse/models/stored-models.ts'
import { actionOf, fingerprintOf, mayCollide, needsKey, publishedValue } from './pii.ts'

/** A table of the warehouse and of its targets. */
export interface Relation {
  /** Name of the table; that of a mart contains the schema: `marts.dim_agents`. */
  name: string
  about: string
  columns: readonly DescribedColumn[]
  /** Columns of a mart whose values also come from records of other agents than the row's own. */
  shared: readonly string[]
  /** Key columns: a changed key replaces all rows that have it. */
  key: readonly string[]
  /** True if no two rows have the same key, even after hashing. */
  isKeyUnique: boolean
  /** The table whose entries in the change log name the changed keys: itself, or the parent of a child table. */
  published: PublishedTable
}

/** Returns all published tables: record tables, each before its child tables, marts, models. Record numbers change with every load. */
export async function publishedRelations(models: readonly StoredModel[] = []): Promise<Relation[]> {
  const tables = new Map((await describedTables()).map(table => [table.name, table]))
  const shared = new Map(marts().map(mart => [publishedMart(mart).table, mart.shared]))
  const own = [...PUBLISHED_TABLES, ...marts().map(publishedMart)].flatMap(published =>
    [published.table, ...published.children].map(name => {
      const { about, columns } = tables.get(name)!
      const key = published.key.map(column => column.name)
      const hasCollidingKey = columns.some(column => key.includes(column.name) && mayCollide(column))
      return {
        name,
        about,
        columns: columns.filter(column => column.name !== RECORD_NUMBER.name),
        shared: shared.get(name) ?? [],
        key,
        isKeyUnique: name === published.table && published.isKeyUnique && !hasCollidingKey,
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
    isKeyUnique: columns.every(column => !key.includes(column.name) || !mayCollide(column)),
  }
}

export interface SelectedRelation extends Relation {
  /** SQL of the value of each column. */
  values: readonly string[]
  /** SQL of the value of each key column. */
  keyValues: readonly string[]
  /** True if a key column is hashed or closed. Such keys may collide, so the whole table is replaced. Only small marts have such keys. */
  hasHashedKey: boolean
  /** SQL of the condition that a row satisfies; null selects all rows. */
  where: string | null
}

export interface Selection {
  relations: readonly SelectedRelation[]
  /**
   * Returns the hash of everything that determines the target's rows and values, given that the tables in `empty` have
   * no rows. If the hash differs, the target is written from empty.
   */
  policyOf(empty: ReadonlyMap<string, unknown>): string
  /** Why tables are not published: the target cannot hold them. */
  unfit: ReadonlyMap<string, string>
  /** The failing checks that block tables of this selection, by record table. */
  blocked: ReadonlyMap<string, readonly string[]>
}

/** Returns the SQL of a column's value in a form that a target can hold. `ids`: columns that are part of any table's key. */
export type Representation = (
  value: string,
  column: Pick<DescribedColumn, 'name' | 'sqlType'>,
  key: { ids: ReadonlySet<string>; isKey: boolean },
) => string

/** Something about a table that a target cannot hold. */
export interface Obstacle {
  /** Why the table is not published, for people. */
  reason: string
  /** SQL condition of the rows `t` that the target cannot hold; if omitted, it is the table itself. */
  rows?: string
}

/** The parts of a target type (`TargetType`) that determine its contents. */
interface Contents {
  represent?: Representation
  obstacles?(relation: Relation, target: TargetConfig): Obstacle[]
  contents(target: TargetConfig): readonly unknown[]
}

const digest = (of: unknown): string => createHash('sha256').update(JSON.stringify(of)).digest('hex')

/** Returns the part of a policy that `rows`, `pii` and the agents of organizations determine. */
export const settingsIn = (policy: string): string => policy.split('.', 1)[0]!

const textList = (values: readonly string[]): string => `(${values.map(quoteText).join(', ')})`

type RowFilter = NonNullable<TargetConfig['rows']>

/** True if all rows of the workspaces are selected. */
const isOfWorkspaces = ({ agents, organizations }: RowFilter): boolean => agents.length + organizations.length === 0

/** Returns a SELECT of the organizations' agents. Organizations that the vendor no longer has keep their rows, but have no agents. */
const agentsOf = (organizations: readonly string[]): string =>
  `SELECT DISTINCT workspace_id, agent_id FROM organization_agents JOIN organizations USING (workspace_id, organization_id)
    WHERE organization_id IN ${textList(organizations)} AND _missing_since IS NULL AND _deleted_at IS NULL`

/**
 * Refuses ids that several workspaces have if the filter names no workspace: the target may be for a client of one of them.
 * @throws TARGET_UNUSABLE
 */
async function expectUnambiguous({ rows }: Pick<Writer, 'rows'>, { name, rows: filter }: TargetConfig): Promise<void> {
  if (filter === null || filter.workspaces !== undefined) return
  const named = (table: string, column: string, ids: readonly string[]) =>
    `SELECT workspace_id, ${column} AS id FROM ${table} WHERE list_contains([${ids.map(quoteText)}]::VARCHAR[], ${column})`
  const agents = named('marts.dim_agents', 'agent_id', filter.agents)
  const organizations = named('organizations', 'organization_id', filter.organizations)
  const [shared] = await rows<{ id: string; workspaces: string }>(
    `SELECT id, string_agg(workspace_id, ', ' ORDER BY workspace_id) AS workspaces FROM (${agents} UNION ${organizations})
      GROUP BY id HAVING count(*) > 1 ORDER BY id LIMIT 1`,
  )
  if (shared === undefined) return
  throw new ConvohouseError('TARGET_UNUSABLE', {
    what: `The rows of target ${name} are ambiguous: each of the workspaces ${shared.workspaces} has the id ${shared.id}.`,
    hint: 'Name the workspaces beside it: `rows: { workspaces: [WORKSPACE], … }`.',
  })
}

/**
 * Returns the condition that rows of a table satisfy; undefined if the table is not published to filtered targets,
 * since no key shows whose its rows are.
 */
function conditionOf({ key }: Pick<Relation, 'key'>, filter: RowFilter): string | undefined {
  const { workspaces, agents, organizations } = filter
  const within = workspaces ? `t.workspace_id IN ${textList(workspaces)}` : 'true'
  if (isOfWorkspaces(filter)) return key.includes('workspace_id') ? within : undefined
  if (key.includes('organization_id') && organizations.length === 0) return undefined
  const own = key.includes('organization_id') ? `${within} AND t.organization_id IN ${textList(organizations)}` : within
  if (key.includes('agent_id')) {
    const named = agents.length > 0 ? [`t.agent_id IN ${textList(agents)}`] : []
    const owned = organizations.length > 0 ? [`(t.workspace_id, t.agent_id) IN (${agentsOf(organizations)})`] : []
    return `(${[...named, ...owned].join(' OR ')}) AND ${own}`
  }
  return key.includes('organization_id') ? own : undefined
}

/** Returns the listed agents whose rows the target receives. */
export function selectedAgents(
  { rows }: Pick<Writer, 'rows'>,
  { rows: filter }: TargetConfig,
): Promise<{ workspaceId: string; agentId: string }[]> {
  const where = filter === null ? 'true' : conditionOf({ key: ['workspace_id', 'agent_id'] }, filter)
  return rows(
    `SELECT workspace_id AS "workspaceId", agent_id AS "agentId" FROM agents t WHERE _missing_since IS NULL AND ${where}`,
  )
}

const isModel = (name: string): boolean => name.startsWith(`${MODELS_SCHEMA}.`)

/** True if a row filter can select rows of a model: by agent, or by workspace. */
const isSelectable = ({ key }: Relation, filter: RowFilter): boolean =>
  key.includes('workspace_id') && (key.includes('agent_id') || isOfWorkspaces(filter))

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
  if (rows !== null && isModel(relation.name) && !isSelectable(relation, rows)) return []
  const policies = rows?.workspaces?.map(id => actionsIn(pii, id)) ?? policiesOf(pii)
  const actions = policies.flatMap(policy => keyColumns.map(column => actionOf(column, policy)))
  // Rows without keys could not be told apart.
  if (actions.includes('drop')) return []
  // Names of people, teams and organizations may come from records of agents that the target does not receive.
  const isWhole = rows === null || (isOfWorkspaces(rows) && !isModel(relation.name))
  const hidden = isWhole ? [] : relation.shared
  const isOfWorkspace = relation.columns.some(({ name }) => name === 'workspace_id')
  const represented = (column: DescribedColumn) => {
    const value = hidden.includes(column.name) ? `NULL::${column.sqlType}` : publishedValue(column, pii, isOfWorkspace)
    const isKey = relation.key.includes(column.name)
    return represent ? represent(value, column, { ids, isKey }) : value
  }
  const values = relation.columns.map(represented)
  const keyValues = keyColumns.map(represented)
  return [{ ...relation, values, keyValues, hasHashedKey: actions.some(action => action !== 'keep'), where }]
}

/** Returns why the target cannot hold tables, by table. A table that has no place takes its child tables along. */
async function findUnfit(
  { rows }: Pick<Writer, 'rows'>,
  relations: readonly SelectedRelation[],
  obstaclesOf: (relation: Relation) => readonly Obstacle[],
): Promise<Map<string, string>> {
  const unfit = new Map<string, string>()
  for (const relation of relations)
    for (const { reason, rows: condition } of obstaclesOf(relation)) {
      const found = `SELECT 1 FROM ${quotedTable(relation.name)} t WHERE ${condition} AND ${relation.where ?? 'true'} LIMIT 1`
      if (condition === undefined || (await rows(found)).length > 0) unfit.set(relation.published.table, reason)
    }
  return unfit
}

/**
 * Returns the rows and values that `target` receives, given the current rows of `organization_agents`. Must run in the
 * transaction that reads the rows. `key` is the hash key, for a target that needs one.
 */
export async function selectionFor(
  reader: Pick<Writer, 'rows'>,
  { target, type, key }: { target: TargetConfig; type: Contents; key: Buffer | null },
): Promise<Selection> {
  const models = await builtModels(reader)
  await expectUnambiguous(reader, target)
  const published = await publishedRelations(models)
  const ids = new Set(published.flatMap(({ key }) => key))
  const wanted = published.flatMap(relation => selected(relation, { target, type, ids }))
  const unfit = await findUnfit(reader, wanted, relation => type.obstacles?.(relation, target) ?? [])
  const relations = wanted.filter(relation => !unfit.has(relation.published.table))
  const organizations = target.rows?.organizations ?? []
  const agents = organizations.length === 0 ? [] : await reader.rows(`${agentsOf(organizations)} ORDER BY ALL`)
  // Includes the SQL of the values, since a new version may normalise values differently before it hashes them.
  const columns = relations.map(({ name, key: keyColumns, columns: of, values, where }) => [
    name,
    of.map((column, index) => [column.name, column.sqlType, values[index]]),
    where,
    // All other tables have the keys of this version.
    ...(isModel(name) ? [keyColumns] : []),
    ...models.flatMap(model => (tableOf(model.name) === name && model.tableId !== null ? [model.tableId] : [])),
  ])
  const settings = digest([target.pii, target.rows, agents, needsKey(target.pii) ? fingerprintOf(key!) : null])
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
      return `${settings}.${digest([columns, type.contents(target), [...empty.keys()].sort()])}`
    },
    blocked,
    unfit,
  }
}
