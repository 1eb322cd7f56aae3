// The properties file of a dbt project: the published tables and marts as sources, with descriptions and tests, and dashboards as exposures.
import { stringify } from 'yaml'
import type { DescribedColumn } from '../warehouse/dictionary/dictionary.ts'
import type { StoredModel } from '../warehouse/models/stored-models.ts'
import { publishedRelations, type Relation } from './selection.ts'

/** The parts of an exported Grafana dashboard that an exposure needs. */
export interface GrafanaDashboard {
  uid: string
  title: string
  description?: string
  panels: readonly { targets?: readonly { rawSql?: string }[]; panels?: GrafanaDashboard['panels'] }[]
}

/** Sources by the schema of their tables in the warehouse. */
const SOURCES = { main: 'convohouse', marts: 'convohouse_marts', models: 'convohouse_models' }

type Schema = keyof typeof SOURCES

function placeOf({ name }: Pick<Relation, 'name'>): { schema: Schema; table: string } {
  const [first, second] = name.split('.')
  return second === undefined ? { schema: 'main', table: name } : { schema: first as Schema, table: second }
}

const isIn = (schema: Schema) => (relation: Pick<Relation, 'name'>) => placeOf(relation).schema === schema

/** Jinja of the reference to a table. */
function reference(relation: Pick<Relation, 'name'>): string {
  const { schema, table } = placeOf(relation)
  return `source('${SOURCES[schema]}', '${table}')`
}

/** Dimensions that facts refer to by a column of the same name. People and teams are not among them: targets may lack them. */
const DIMENSIONS = [{ column: 'agent_id', mart: 'marts.dim_agents' }]

function columnTests({ name }: DescribedColumn, relation: Relation): unknown[] {
  const tests: unknown[] = relation.key.includes(name) ? ['not_null'] : []
  for (const { column, mart } of DIMENSIONS)
    if (column === name && isIn('marts')(relation) && relation.name !== mart)
      tests.push({ relationships: { arguments: { to: reference({ name: mart }), field: column } } })
  return tests
}

const columnOf = (column: DescribedColumn, relation: Relation) => {
  const tests = columnTests(column, relation)
  return {
    name: column.name,
    description: column.about,
    ...(column.pii !== 'none' && { config: { meta: { pii: column.pii } } }),
    ...(tests.length > 0 && { data_tests: tests }),
  }
}

/** A test that no two rows have the same key. `chr(31)` occurs in no id, so that ids do not run into each other. */
const keyTest = ({ key }: Relation) => ({
  unique: { arguments: { column_name: `(${key.map(name => `cast(${name} as varchar)`).join(' || chr(31) || ')})` } },
})

const tableOf = (relation: Relation) => ({
  name: placeOf(relation).table,
  description: relation.about,
  ...(relation.isKeyUnique && { data_tests: [keyTest(relation)] }),
  columns: relation.columns.map(column => columnOf(column, relation)),
})

/** The table that says how fresh a target is. Targets of Parquet files have it as a file. */
const PUBLICATION = {
  name: '_publication',
  description: 'One row: which state of the warehouse the target has.',
  config: {
    loaded_at_field: 'as_of',
    freshness: { warn_after: { count: 1, period: 'day' } },
  },
  columns: [{ name: 'as_of', description: 'When the rows were read from the warehouse (UTC)' }],
}

/** The target's database and schemas are variables, with the names that a target `postgres` has by default. */
const place = (variable: string, schema: string) => ({
  database: "{{ var('convohouse_database', target.database) }}",
  schema: `{{ var('${variable}', '${schema}') }}`,
})

const panelsOf = ({ panels }: Pick<GrafanaDashboard, 'panels'>): GrafanaDashboard['panels'] =>
  panels.flatMap(panel => [panel, ...panelsOf({ panels: panel.panels ?? [] })])

/** The published tables that a dashboard's SQL reads, as they stand behind FROM and JOIN. */
function readBy(dashboard: GrafanaDashboard, relations: readonly Relation[]): Relation[] {
  const sql = panelsOf(dashboard).flatMap(({ targets = [] }) => targets.flatMap(({ rawSql }) => rawSql ?? []))
  const names = new Set(
    sql.flatMap(text => [...text.matchAll(/\b(?:FROM|JOIN)\s+([^\s(),;]+)/gi)].map(([, name]) => name!)),
  )
  const bare = new Set([...names].map(name => name.replaceAll('"', '').split('.').at(-1)!))
  return relations.filter(relation => bare.has(placeOf(relation).table))
}

/** An exposure's name has letters, digits and underscores only. */
const exposureName = (uid: string): string => uid.replaceAll(/\W+/g, '_')

function exposuresOf(dashboards: readonly GrafanaDashboard[], relations: readonly Relation[]) {
  return dashboards.flatMap(dashboard => {
    const read = readBy(dashboard, relations)
    if (read.length === 0) return []
    const { uid, title, description } = dashboard
    return {
      name: exposureName(uid),
      label: title,
      type: 'dashboard',
      ...(description !== undefined && { description }),
      owner: { name: 'Grafana' },
      depends_on: read.map(reference),
    }
  })
}

/**
 * YAML for dbt 1.10.5 and later: the sources `convohouse` (records), `convohouse_marts`, and `convohouse_models` if there are models, and an
 * exposure for each dashboard that reads one of their tables.
 */
export async function dbtProperties(
  dashboards: readonly GrafanaDashboard[],
  models: readonly StoredModel[] = [],
): Promise<string> {
  const relations = await publishedRelations(models)
  const exposures = exposuresOf(dashboards, relations)
  const properties = {
    version: 2,
    sources: [
      {
        name: SOURCES.main,
        description: 'Tables of records, as convohouse publishes them. Times are UTC.',
        ...place('convohouse_schema', 'convohouse'),
        tables: [PUBLICATION, ...relations.filter(isIn('main')).map(tableOf)],
      },
      {
        name: SOURCES.marts,
        description:
          'Marts for analysts and dashboards. Days are days of the workspace’s time zone. Begin with `is_counted`.',
        ...place('convohouse_marts_schema', 'convohouse_marts'),
        tables: relations.filter(isIn('marts')).map(tableOf),
      },
      ...(models.length > 0
        ? [
            {
              name: SOURCES.models,
              description: 'Models of your own.',
              ...place('convohouse_models_schema', 'convohouse_models'),
              tables: relations.filter(isIn('models')).map(tableOf),
            },
          ]
        : []),
    ],
    ...(exposures.length > 0 && { exposures }),
  }
  return `# Generated by \`convohouse dictionary --dbt\`; do not edit.\n${stringify(properties, { lineWidth: 0, aliasDuplicateObjects: false })}`
}
