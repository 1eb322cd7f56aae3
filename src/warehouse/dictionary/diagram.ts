// Entity-relationship diagrams of the tables of records and of the marts, in Mermaid's syntax.
import { type Layout, layoutOf } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import { OBSERVATIONS } from '../changes/published-tables.ts'
import { type Mart, marts } from '../marts/declarations.ts'

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

/** The entities that one refers to: it has their key columns. Left out are those that another of them refers to by the same columns. */
function references(entity: Entity, all: readonly Entity[]): Entity[] {
  // Of tables with the same key, such as events and the tables of their types, the first is the one to refer to.
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

/** Records, and what they refer to. */
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

/** The child tables of one record type, and what they refer to besides their record. */
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

/** Marts that others refer to: by the columns of their keys, or by others that a mart declares. */
const isReferred = ({ name }: Mart): boolean => name.startsWith('dim_') || name === 'fct_conversations'

/** The marts as a star: facts and daily figures with the dimensions that they join. */
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

/** One diagram of all records, one of the marts, and one of each record type that has child tables. */
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
