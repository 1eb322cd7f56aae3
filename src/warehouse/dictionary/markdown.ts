// The data dictionary as a Markdown page.
import { type Layout, layoutOf } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import { isById } from '../../catalog/resources/resource.ts'
import { RESOURCES } from '../../catalog/resources/resources.ts'
import { durationText } from '../../core/time.ts'
import { OBSERVATIONS } from '../changes/published-tables.ts'
import { type Mart, marts } from '../marts/declarations.ts'
import { type DescribedColumn, type DescribedTable, describedTables } from './dictionary.ts'

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')

function columnLine({ name, sqlType, about, pii, path }: DescribedColumn): string {
  return `| \`${name}\` | ${sqlType} | ${path === null ? '' : cell(`\`${path}\``)} | ${pii === 'none' ? '' : pii} | ${cell(about)} |`
}

/** Describes when a resource's rows are requested, and what sets `_missing_since`. */
function resourceLines(table: string): string[] {
  const resource = RESOURCES.find(({ record }) => record.table === table)
  if (!resource) return []
  const { path, absence, parent, secrets = [] } = resource
  const changed = isById(resource) ? (resource.freshness.changedAt ?? []) : []
  const sooner =
    changed.length === 0 ? '' : `, sooner where ${changed.map(name => `\`${name}\``).join(' or ')} is later`
  const often = isById(resource)
    ? `for each id at the end of a sync, where the last answer is ${durationText(resource.freshness.everyMs)} old${sooner}`
    : 'by every sync'
  const missing = {
    never: `its parent is missing`,
    'not found': `the answer is a 404 of the vendor${parent === null ? '' : ', or its parent is missing'}`,
    'not listed': `a complete list does not contain the row${parent === null ? '' : ', or its parent is missing'}`,
  }[absence]
  const removed = secrets.map(secret => `\`${secret}\``).join(', ')
  return [
    `\`GET ${path}\`, ${often}; not metered. \`_missing_since\` is set where ${missing}.${removed && ` Never stored: ${removed}.`}`,
    '',
  ]
}

const section = ({ name, kind, about, example, columns }: DescribedTable): string =>
  [
    `## ${name}`,
    '',
    kind === 'view' ? `View: ${about}` : about,
    '',
    ...resourceLines(name),
    ...(example ? ['```sql', example, '```', ''] : []),
    '| Column | Type | Field of the API | Class | Description |',
    '|---|---|---|---|---|',
    ...columns.map(columnLine),
  ].join('\n')

/** Returns the page `docs/data-dictionary.md`. */
export async function dictionaryPage(): Promise<string> {
  const sections = (await describedTables()).map(section)
  return `${[
    '# Data dictionary',
    '',
    'Generated from the catalog and from the comments in `sql` by `npm run docs`; do not edit. Times are UTC. Columns and tables that begin with `_` are bookkeeping.',
    '`convohouse dictionary TABLE` prints one table. [How the tables refer to each other](er-diagram.md).',
    'Classes ([publishing](publishing.md#personal-data)): `identity` the contact, `content` what was said or noted, `device` the machine or network, `staff` those who handle conversations; `label` tags and names, `word` and `code` texts of that form.',
    'Counts are BIGINT; amounts, scores and measurements are DOUBLE. A count with a fraction counts in `_issues`, and its value is kept in `extra`, or in the JSON column that a child table is read from.',
    'A text with a time is parsed if it is ISO-8601 (UTC without an offset) or an epoch of 10 to 16 digits; any other text counts in `_issues`.',
    '',
    sections.join('\n\n'),
  ].join('\n')}\n`
}

/** Returns the page `docs/er-diagram.md`. */
export const diagramPage = (): string =>
  `${[
    '# How the tables refer to each other',
    '',
    'Generated from the catalog by `npm run docs`; do not edit. Every table also has `workspace_id`, which is part of every key and of every join. An id may refer to a record that is not stored',
    '(of an agent that the vendor no longer lists, for example), so join with `LEFT JOIN`. [Marts](marts.md) are in the schema `marts`. All columns: [the data dictionary](data-dictionary.md).',
    '',
    ...diagrams().flatMap(({ title, mermaid }) => [`## ${title}`, '', '```mermaid', mermaid, '```', '']),
  ].join('\n')}`

interface Diagram {
  title: string
  mermaid: string
}

interface Entity {
  table: string
  key: readonly string[]
  columns: readonly { name: string; sqlType: string }[]
}

const keyColumns = (key: readonly string[]) => key.map(name => ({ name, sqlType: 'VARCHAR' }))

const entityOf = ({ record, key, columns }: Layout): Entity => ({
  table: record.table,
  key,
  columns: [...keyColumns(key), ...columns],
})

const withoutWorkspace = (names: readonly string[]): string[] => names.filter(name => name !== 'workspace_id')

const hasKey = (entity: Entity, key: readonly string[]): boolean =>
  key.every(name => entity.columns.some(column => column.name === name))

const isSame = (a: readonly string[], b: readonly string[]): boolean => a.join() === b.join()

/** Returns the entities whose key columns this entity has. Omits those that another of these entities refers to by the same columns. */
function references(entity: Entity, all: readonly Entity[]): Entity[] {
  // References name the first of several tables with the same key, such as events and the tables of their types.
  const firsts = all.filter(({ key }, at) => all.findIndex(other => isSame(other.key, key)) === at)
  const found = firsts.filter(({ table, key }) => table !== entity.table && hasKey(entity, key))
  return found.filter(
    one => !found.some(other => other.key.length > one.key.length && one.key.every(name => other.key.includes(name))),
  )
}

function entityLines({ table, key, columns }: Entity, foreign: ReadonlySet<string>): string[] {
  const shown = columns.filter(({ name }) => name !== 'workspace_id' && (key.includes(name) || foreign.has(name)))
  return [
    `  ${table} {`,
    ...shown.map(({ name, sqlType }) => {
      const marks = [...(key.includes(name) ? ['PK'] : []), ...(foreign.has(name) ? ['FK'] : [])]
      return `    ${sqlType} ${name} ${marks.join(', ')}`
    }),
    '  }',
  ]
}

const referenceLine = (target: Entity, table: string, isOne: boolean): string =>
  `  ${target.table} ||--${isOne ? 'o|' : 'o{'} ${table} : "${withoutWorkspace(target.key).join(', ')}"`

/** Returns the diagram of records and their references. */
function recordsDiagram(entities: readonly Entity[]): Diagram {
  const lines = entities.flatMap(entity => {
    const targets = references(entity, entities)
    const foreign = new Set(targets.flatMap(({ key }) => withoutWorkspace(key)))
    return [
      ...entityLines(entity, foreign),
      ...targets.map(target => referenceLine(target, entity.table, isSame(target.key, entity.key))),
    ]
  })
  return { title: 'Records', mermaid: ['erDiagram', ...lines].join('\n') }
}

/** Returns the diagram of a record type's child tables and their references to other records. */
function childrenDiagram(layout: Layout, entities: readonly Entity[]): Diagram {
  const { record, key, children } = layout
  const parent = { ...entityOf(layout), columns: keyColumns(key) }
  const lines = children.flatMap(({ table, columns }) => {
    const child = { table, key: [], columns: [...parent.columns, ...columns] }
    const others = references(child, entities).filter(target => !hasKey(parent, target.key))
    return [referenceLine(parent, table, false), ...others.map(target => referenceLine(target, table, false))]
  })
  return {
    title: `Child tables of ${record.table}`,
    mermaid: ['erDiagram', ...entityLines(parent, new Set()), ...lines].join('\n'),
  }
}

/** True for marts that others refer to, by the columns of their keys or by columns that a mart declares. */
const isReferred = ({ name }: Mart): boolean => name.startsWith('dim_') || name === 'fct_conversations'

/** Returns the marts as a star schema: facts and daily figures with the dimensions that they join. */
function martsDiagram(): Diagram {
  const all = marts().map(mart => ({ mart, entity: { table: mart.name, key: mart.grain, columns: mart.columns } }))
  const lines = all.flatMap(({ mart: { name, joins }, entity }) => {
    const targets = all.filter(
      ({ mart, entity: { key } }) => mart.name !== name && isReferred(mart) && hasKey(entity, key),
    )
    const foreign = new Set([
      ...targets.flatMap(({ entity: { key } }) => withoutWorkspace(key)),
      ...joins.map(({ column }) => column),
    ])
    return [
      ...entityLines(entity, foreign),
      ...targets.map(target => referenceLine(target.entity, name, isSame(target.entity.key, entity.key))),
      ...joins.map(({ column, mart }) => `  ${mart} ||--o{ ${name} : "${column}"`),
    ]
  })
  return { title: 'Marts', mermaid: ['erDiagram', ...lines].join('\n') }
}

/** Returns one diagram of all records, one of the marts, and one of each record type that has child tables. */
export function diagrams(): Diagram[] {
  const layouts = RECORD_TYPES.map(record => layoutOf(record))
  const observations: Entity = {
    table: OBSERVATIONS.table,
    key: OBSERVATIONS.key.map(({ name }) => name),
    columns: OBSERVATIONS.key,
  }
  const entities = [...layouts.map(entityOf), observations]
  return [
    recordsDiagram(entities),
    martsDiagram(),
    ...layouts.filter(({ children }) => children.length > 0).map(layout => childrenDiagram(layout, entities)),
  ]
}
