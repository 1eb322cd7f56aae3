// Compiles a record type into its layout: the columns of its table, its child tables, and the SQL that extracts each value from a staged
// record. DDL, load SQL and dictionary derive from it.
//
// In expressions, `s` is the staged record, whose columns have the API's names, and `e` is an element of an array.
import {
  type Field,
  type Fields,
  type Label,
  type Lift,
  type ObjectList,
  type PiiClass,
  type RecordType,
  type Scalar,
  snakeCase,
  type TextList,
  type Unnest,
} from './shape.ts'

export interface Column {
  name: string
  sqlType: string
  /** SQL over `s` (or over `e` in a child table). */
  expression: string
  /** Path in the API's record, e.g. `csat.ease10`; null for a column of our own. */
  path: string | null
  /** Top-level keys of the record that the column depends on. */
  from: readonly string[]
  about: string
  pii: PiiClass
  unit?: string
}

export interface ChildTable {
  table: string
  about: string
  /** Top-level key of the record that the child is read from. */
  from: string
  columns: Column[]
  /** Selection of the child's rows. */
  rows: ChildRows
}

type ChildRows =
  /** A list of strings on `s`, or on an element `e` of `parent`. */
  | { over: 'texts'; list: string; parent: string | null; parentId?: string }
  /** Lists of strings on `s` that fill one table; each row has the label of its list. */
  | { over: 'labelled'; lists: { sql: string; label: string }[] }
  | { over: 'objects'; list: string; parent: string | null; parentId?: string }
  | { over: 'elements'; json: string; lifts: readonly Lift[] }
  | { over: 'entries'; json: string; lifts: readonly Lift[] }

export interface Layout {
  record: RecordType
  /** Columns that identify a record, in order. */
  key: string[]
  columns: Column[]
  /** Derived columns that can be computed again from the stored row, with the SQL for that. */
  rederived: { column: string; value: string }[]
  children: ChildTable[]
}

/** True if records have child tables; record numbers join their rows to the record's row. */
export const isNumbered = (layout: Layout): boolean => layout.children.length > 0

export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** Returns a name as people write it: quoted only where SQL needs it. */
export const writtenName = (name: string): string => (/^[a-z_]\w*$/i.test(name) ? name : quoteName(name))

/** Returns the SQL of a table's name, with its schema if it has one. */
export const quotedTable = (name: string): string => name.split('.').map(quoteName).join('.')
export const quoteText = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** Returns the SQL of the UTC day of a time. `AT TIME ZONE 'UTC'` is equivalent, but DuckDB's calendar takes ten times as long. */
export const utcDay = (time: string): string => `make_timestamp(epoch_us(${time}))::DATE`

/** Returns an SQL condition that rows `a` and `b` have the same values in the columns `key`. */
export const sameKey = (key: readonly string[], a: string, b: string): string =>
  key.map(name => `${a}.${quoteName(name)} = ${b}.${quoteName(name)}`).join(' AND ')

const SQL_TYPES: Record<Scalar['type'], string> = {
  text: 'VARCHAR',
  count: 'BIGINT',
  number: 'DOUBLE',
  boolean: 'BOOLEAN',
  time: 'TIMESTAMPTZ',
  moment: 'VARCHAR',
  loose: 'VARCHAR',
  any: 'JSON',
}

const read = (type: Scalar['type'], sql: string): string => {
  // Staged as a DOUBLE; values that are no integers have been coerced.
  if (type === 'count') return `${sql}::BIGINT`
  if (type === 'time') return `to_moment(${sql})`
  if (type === 'loose') return `${sql}->>'$'`
  return sql
}

/** Returns the field's SQL, with channels in their one spelling. */
function spelled(field: Scalar | TextList, sql: string): string {
  if (!field.channel) return sql
  if (field.kind === 'scalar' && field.type === 'any') return oneSpellingInside(sql)
  return oneSpelling(field.channel === 'lower' ? `lower(nullif(${sql}, ''))` : sql)
}

interface Place {
  /** SQL of the object that contains the field. */
  sql: string
  path: string
  prefix: string
  from: string | null
}

function scalarColumns(key: string, field: Scalar, place: Place): Column[] {
  if (field.hidden) return []
  const sql = spelled(field, `${place.sql}.${quoteName(key)}`)
  const base = {
    path: place.path + key,
    from: [place.from ?? key],
    about: field.about,
    pii: field.pii,
    ...(field.unit && { unit: field.unit }),
  }
  const name = place.prefix + (field.column ?? snakeCase(key))
  const column: Column = { ...base, name, sqlType: SQL_TYPES[field.type], expression: read(field.type, sql) }
  if (field.lift) return [column, ...field.lift.map(lift => besideJson(lift, sql, { ...base, prefix: place.prefix }))]
  if (!field.twin) return [column]
  const twin = {
    ...base,
    name: place.prefix + field.twin,
    about: `${field.about.replace(', as sent', '')}, where it can be read`,
    pii: 'none' as const,
  }
  return [column, { ...twin, sqlType: 'TIMESTAMPTZ', expression: `parse_moment(${sql})` }]
}

/** Returns a column lifted out of the JSON in `sql`. */
const besideJson = (lift: Lift, sql: string, base: Pick<Column, 'path' | 'from'> & { prefix: string }): Column => ({
  name: base.prefix + lift.column,
  sqlType: LIFT_TYPES[lift.type],
  expression: liftedFrom(lift, sql),
  path: `${base.path}.${lift.keys.join('|')}`,
  from: base.from,
  about: lift.about,
  pii: lift.pii,
})

function columnsOf(fields: Fields, place: Place): Column[] {
  return Object.entries(fields).flatMap(([key, field]) => {
    if (field.kind === 'scalar') return scalarColumns(key, field, place)
    if (field.kind !== 'group') return []
    return columnsOf(field.fields, {
      sql: `${place.sql}.${quoteName(key)}`,
      path: `${place.path}${key}.`,
      prefix: field.isFlat ? place.prefix : `${place.prefix}${snakeCase(key)}_`,
      from: place.from ?? key,
    })
  })
}

const ownColumn = (name: string, sqlType: string, expression: string, about: string, from: string): Column => ({
  name,
  sqlType,
  expression,
  about,
  from: [from],
  path: null,
  pii: 'none',
})

const POSITION_ABOUT = 'Position in the list, from 1'
const EXTRA_ABOUT = 'Fields that the catalog does not know, as sent'

/** Returns the singular: `conversation_handoffs` → `handoff`, `crm_activities` → `activity`, `agent_nodes` → `node`. */
const singular = (table: string): string =>
  table
    .replace(/^(conversation|crm|agent)_/, '')
    .replace(/ies$/, 'y')
    .replace(/s$/, '')

/** The element of a list that contains another list: columns that identify it in the inner list's rows, and SQL of its id. */
interface Parent {
  columns: Column[]
  id?: string
}

/** Returns how the rows of a list are selected: on the record, or on the elements of the list `place.from`. */
const inList = (list: string, place: Place, parent: Parent | null) => ({
  list,
  parent: parent && place.from,
  ...(parent?.id && { parentId: parent.id }),
})

function textsChildren(fields: Fields, place: Place, parent: Parent | null): ChildTable[] {
  const lists = Object.entries(fields).filter((entry): entry is [string, TextList] => entry[1].kind === 'texts')
  const labelled = new Set(lists.flatMap(([, { label, table }]) => (label ? [table] : [])))
  return [
    ...lists.filter(([, { label }]) => !label).map(([key, list]) => textsChild(key, list, place, parent)),
    ...[...labelled].map(table => {
      const own = lists.filter(([, list]) => list.table === table)
      return labelledChild({ table, label: own[0]![1].label!, lists: own, place })
    }),
  ]
}

function textsChild(key: string, field: TextList, place: Place, parent: Parent | null): ChildTable {
  const from = place.from ?? key
  return {
    table: field.table,
    about: field.about,
    from,
    columns: [
      ...(parent?.columns ?? []),
      ownColumn('position', 'INTEGER', 'i', POSITION_ABOUT, from),
      {
        ...ownColumn(field.column, 'VARCHAR', spelled(field, 'l0[i]'), field.about, from),
        path: `${place.path}${key}[]`,
        pii: field.pii,
      },
    ],
    rows: { over: 'texts', ...inList(`${place.sql}.${quoteName(key)}`, place, parent) },
  }
}

function labelledChild(options: {
  table: string
  label: Label
  lists: [string, TextList][]
  place: Place
}): ChildTable {
  const { table, label, lists, place } = options
  const [key, { column, about, pii }] = lists[0]!
  const from = place.from ?? key
  const path = lists.map(([name]) => `${place.path}${name}[]`).join('|')
  return {
    table,
    about,
    from,
    columns: [
      ownColumn(label.column, 'VARCHAR', 'label', label.about, from),
      ownColumn('position', 'INTEGER', 'i', POSITION_ABOUT, from),
      { ...ownColumn(column, 'VARCHAR', 'l0[i]', about, from), path, pii },
    ],
    rows: {
      over: 'labelled',
      lists: lists.map(([name, list]) => ({ sql: `${place.sql}.${quoteName(name)}`, label: list.label!.value })),
    },
  }
}

function objectChildren(key: string, field: ObjectList, place: Place, parent: Parent | null): ChildTable[] {
  const from = place.from ?? key
  const inner: Place = { sql: 'e', path: `${place.path}${key}[].`, prefix: '', from }
  const position = ownColumn('position', 'INTEGER', 'i', POSITION_ABOUT, from)
  const own: ChildTable = {
    table: field.table,
    about: field.about,
    from,
    columns: [
      ...(parent?.columns ?? []),
      position,
      ...columnsOf(field.fields, inner),
      { ...ownColumn('extra', 'JSON', 'NULL', EXTRA_ABOUT, from), pii: 'content' },
    ],
    rows: { over: 'objects', ...inList(`${place.sql}.${quoteName(key)}`, place, parent) },
  }
  const innerPosition = ownColumn(
    `${singular(field.table)}_position`,
    'INTEGER',
    'p',
    `\`position\` of its row in \`${field.table}\``,
    from,
  )
  return [own, ...childrenOf(field.fields, inner, parentOf(field, innerPosition))]
}

function parentOf({ id, table }: ObjectList, position: Column): Parent {
  if (!id) return { columns: [position] }
  const about = `Id of its row in \`${table}\``
  const column = ownColumn(id.column, 'VARCHAR', 'parent_id', about, position.from[0]!)
  return { columns: [position, column], id: `e.${quoteName(id.key)}` }
}

function unnestChild(key: string, field: Scalar & { unnest: Unnest }, place: Place): ChildTable {
  const { unnest, hidden } = field
  const from = place.from ?? key
  const path = `${place.path}${key}`
  const id =
    unnest.over === 'elements'
      ? ownColumn('position', 'INTEGER', 'i', POSITION_ABOUT, from)
      : {
          ...ownColumn(unnest.keyColumn!, 'VARCHAR', 'k', 'Key of the entry', from),
          path: `${path}.*`,
          pii: unnest.keyPii!,
        }
  const lifted = unnest.lift.map(lift => ({
    ...ownColumn(lift.column, LIFT_TYPES[lift.type], '', lift.about, from),
    path: hidden ? null : `${path}${unnest.over === 'elements' ? '[]' : '.*'}.${lift.keys.join('|')}`,
    pii: lift.pii,
  }))
  return {
    table: unnest.table,
    about: unnest.about,
    from,
    columns: [id, ...lifted],
    rows: { over: unnest.over, json: `${place.sql}.${quoteName(key)}`, lifts: unnest.lift },
  }
}

function childrenOf(fields: Fields, place: Place, parent: Parent | null): ChildTable[] {
  const others = Object.entries(fields).flatMap(([key, field]: [string, Field]): ChildTable[] => {
    if (field.kind === 'objects') return objectChildren(key, field, place, parent)
    if (field.kind === 'scalar' && field.unnest) return [unnestChild(key, { ...field, unnest: field.unnest }, place)]
    if (field.kind !== 'group') return []
    const sql = `${place.sql}.${quoteName(key)}`
    return childrenOf(field.fields, { sql, path: `${place.path}${key}.`, prefix: '', from: place.from ?? key }, null)
  })
  return [...textsChildren(fields, place, parent), ...others]
}

const compiled = new WeakMap<RecordType, Map<string, Layout>>()

/** Compiles a record type, once. `timeZone` is an IANA name, for derived days; it does not change the table's shape. */
export function layoutOf(record: RecordType, timeZone = 'UTC'): Layout {
  const byZone = compiled.get(record) ?? new Map<string, Layout>()
  compiled.set(record, byZone)
  const layout = byZone.get(timeZone) ?? compileLayout(record, timeZone)
  byZone.set(timeZone, layout)
  return layout
}

/** Returns the column with an expression that reads its field under each of the field's names. */
function underAliases({ aliases = {} }: RecordType, column: Column): Column {
  const names = Object.keys(aliases).filter(alias => column.from.includes(aliases[alias]!))
  const own = (name: string) => `s.${quoteName(name)}.`
  const others = names.map(alias => column.expression.replaceAll(own(aliases[alias]!), own(alias)))
  if (others.length === 0) return column
  return {
    ...column,
    expression: `coalesce(${[column.expression, ...others].join(', ')})`,
    from: [...column.from, ...names],
  }
}

/** Returns the columns and child tables of computed fields, which have no path and put nothing into `extra`. */
function computedLayout({ computed }: RecordType, root: Place): Pick<Layout, 'columns' | 'children'> {
  const fields = computed?.fields ?? {}
  const withoutPath = (columns: Column[]) => columns.map(column => ({ ...column, path: null }))
  const children = childrenOf(fields, root, null).map(child => ({
    ...child,
    columns: withoutPath(child.columns.filter(({ name }) => name !== 'extra')),
  }))
  return { columns: withoutPath(columnsOf(fields, root)), children }
}

function compileLayout(record: RecordType, timeZone: string): Layout {
  const { derived: declared = [] } = record
  const root: Place = { sql: 's', path: '', prefix: '', from: null }
  const derived = declared.map(
    (column): Column => ({
      name: column.column,
      sqlType: column.sqlType,
      expression: column.sql({ timeZone: quoteText(timeZone) }),
      path: null,
      from: column.from,
      about: column.about,
      pii: column.pii,
    }),
  )
  const fields = columnsOf(record.fields, root)
    .filter(column => column.path !== record.id.key)
    .map(column => underAliases(record, column))
  const computed = computedLayout(record, root)
  return {
    record,
    key: ['workspace_id', ...(record.perAgent ? ['agent_id'] : []), record.id.column],
    columns: [...derived, ...computed.columns, ...fields],
    rederived: declared.flatMap(({ column, stored }) =>
      stored ? [{ column, value: stored({ timeZone: quoteText(timeZone) }) }] : [],
    ),
    children: [...childrenOf(record.fields, root, null), ...computed.children],
  }
}

/** Returns the SQL of a channel in one spelling: `web-chat` becomes `webchat`, any other stays as sent (notes on the API, "Shapes"). */
export const oneSpelling = (channel: string): string =>
  `CASE lower(${channel}) WHEN 'web-chat' THEN 'webchat' WHEN 'webchat' THEN 'webchat' ELSE ${channel} END`

/** Returns the SQL of a JSON value with each channel inside it in one spelling. */
const oneSpellingInside = (json: string): string =>
  `regexp_replace(${json}::VARCHAR, '(?i)"web-?chat"', '"webchat"', 'g')::JSON`

/** SQL types of lifted columns. */
const LIFT_TYPES = {
  text: 'VARCHAR',
  count: 'BIGINT',
  number: 'DOUBLE',
  time: 'TIMESTAMPTZ',
  position: 'INTEGER',
  json: 'JSON',
} as const

/** Returns the SQL that converts the text of a lifted value to the lift's type. */
export function typedLift({ type }: Lift, text: string): string {
  switch (type) {
    case 'text':
      return text
    case 'count':
      return `parse_count(${text})`
    case 'number':
      return `parse_number(${text})`
    case 'time':
      return `parse_moment(${text})`
    case 'position':
      return `TRY_CAST(${text} AS INTEGER)`
    case 'json':
      return `${text}::JSON`
  }
}

const scalarIn = (json: string): string =>
  `CASE WHEN left((${json})::VARCHAR, 1) NOT IN ('{', '[', 'n') THEN ${json}->>'$' END`

/** Returns the SQL of a column that is lifted out of the JSON in `sql`, which is an object or a scalar. */
function liftedFrom(lift: Lift, sql: string): string {
  const found = lift.keys.map(key => scalarIn(`(${sql}->'$.${key}')`))
  return typedLift(lift, `coalesce(${[...found, lift.orSelf ? scalarIn(sql) : 'NULL'].join(', ')})`)
}
