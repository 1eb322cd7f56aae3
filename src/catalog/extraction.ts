// Extraction of rows from staged records: one SELECT for the record's own table, one for each child table.
//
// A stage is a temporary table `s` with a column per field of the record (reading the fields from one STRUCT column costs twice as much) and
// `__agent`, the agent of the page.

import { ELEMENT, extraSql, subtree, type UnknownTree } from './inspection/unknown-fields.ts'
import { type ChildTable, type Column, type Layout, quoteName, quoteText, typedLift } from './layout.ts'
import type { Lift } from './shape.ts'
import { COERCED_EXTRA } from './staging.ts'

/** Returns the key columns of a staged record, as SELECT items. */
export function keyItems(layout: Layout, workspaceId: string): string[] {
  return [
    `${quoteText(workspaceId)} AS workspace_id`,
    ...(layout.record.perAgent ? ['s."__agent" AS agent_id'] : []),
    `s.${quoteName(layout.record.id.key)} AS ${layout.record.id.column}`,
  ]
}

/** Returns the SQL of `extra`: that of a coerced record or element, else the values at the unknown paths. */
const extraItem = (sql: string, unknown: UnknownTree | null): string =>
  `coalesce(${sql}.${quoteName(COERCED_EXTRA)}, ${extraSql(unknown, sql)})`

/** Returns the SELECT items of the record's own columns and `extra`. */
export function recordItems(layout: Layout, unknown: UnknownTree): string[] {
  const extra = extraItem('s', unknown)
  return [...layout.columns.map(column => `${column.expression} AS ${quoteName(column.name)}`), `${extra} AS extra`]
}

const keyNames = (layout: Layout): string[] => [...layout.key, '_record']

/** Returns the columns of a child table, as INSERT names them. */
export const childColumns = (layout: Layout, child: ChildTable): string[] => [
  ...keyNames(layout),
  ...child.columns.map(column => quoteName(column.name)),
]

const items = (parts: string[]): string => parts.join(', ')

/**
 * Returns a SELECT of the lists to unnest, as `l0`: a list of the record or, with `parent`, a list in each element of
 * `parent`, with the element's position `p` and its `parent_id`, if it has one.
 */
function listSource(options: {
  keys: string
  stage: string
  rows: { list: string; parent: string | null; parentId?: string }
}): string {
  const { keys, stage, rows } = options
  const { list: own, parent, parentId } = rows
  if (parent === null) return `SELECT ${keys}, ${own} AS l0 FROM ${stage} s WHERE len(${own}) > 0`
  const list = `s.${quoteName(parent)}`
  const elements = `SELECT ${keys}, generate_subscripts(${list}, 1) AS p, unnest(${list}) AS e FROM ${stage} s WHERE len(${list}) > 0`
  return `SELECT * EXCLUDE (e), ${parentId ?? 'NULL'} AS parent_id, ${own} AS l0 FROM (${elements}) WHERE len(${own}) > 0`
}

const selected = (columns: Column[]): string => items(columns.map(c => `${c.expression} AS ${quoteName(c.name)}`))

/** Returns the SQL that is true if the JSON is an object, an array or null; it tests the first character. */
const isNoScalar = (json: string): string => `left(${json}::VARCHAR, 1) IN ('{', '[', 'n')`

/** Returns the SQL of the first scalar among the lift's keys, as JSON. `x` holds the value at each path, NULL if not a scalar. */
function firstScalar(lift: Lift, paths: string[]): string {
  const found = lift.keys.map(key => `x[${paths.indexOf(key) + 1}]`)
  return found.length === 1 ? found[0]! : `coalesce(${items(found)})`
}

/** Returns the SQL of the lifted value as text. */
function liftedText(lift: Lift, paths: string[]): string {
  const found = firstScalar(lift, paths)
  const self =
    lift.orSelf === 'whole' ? `coalesce(${found}, v)` : `CASE WHEN ${isNoScalar('v')} THEN ${found} ELSE v END`
  return `(${lift.orSelf ? self : found})->>'$'`
}

function unnestSelect(child: ChildTable, keyColumns: string, keys: string, stage: string): string {
  if (child.rows.over !== 'elements' && child.rows.over !== 'entries') throw new Error('not an unnested child')
  const { json, lifts, over } = child.rows
  // `$[*]` took a third of the time of from_json to a list of JSON. DuckDB would make two rows of a duplicate key, so
  // this SELECT then fails, and the page takes the tolerant path, which keeps the last value.
  const source =
    over === 'elements'
      ? `SELECT * EXCLUDE (l), generate_subscripts(l, 1) AS i, unnest(l) AS v FROM
          (SELECT ${keys}, json_extract(${json}, '$[*]') AS l FROM ${stage} s WHERE left(${json}::VARCHAR, 1) = '[')`
      : `SELECT * EXCLUDE (m), m.key AS k, m.value AS v FROM
          (SELECT * EXCLUDE (m), unnest(CASE WHEN list_unique(map_keys(m)) < cardinality(m) THEN error('a key occurs twice') ELSE map_entries(m) END) AS m
            FROM (SELECT ${keys}, ${json}::MAP(VARCHAR, JSON) AS m FROM ${stage} s WHERE left(${json}::VARCHAR, 1) = '{'))`
  const paths = [...new Set(lifts.flatMap(lift => lift.keys))]
  // One call for all paths, since each call parses the element again.
  const found = `json_extract(v, [${items(paths.map(key => quoteText(`$.${key}`)))}])`
  const scalars = `list_transform(${found}, lambda j: CASE WHEN NOT ${isNoScalar('j')} THEN j END)`
  const extracted = `SELECT *, ${scalars} AS x FROM (${source})`
  // The texts have a separate SELECT, because DuckDB expands a macro's argument at each use, and parse_moment uses it a dozen times.
  // With one SELECT, planning took 57 ms for the sessions of three conversations; a CASE per path took a third of the remaining time.
  const texts = lifts.map((lift, index) => `${liftedText(lift, paths)} AS t${index}`)
  const id = child.columns[0]!
  const columns = lifts.map((lift, index) => `${typedLift(lift, `t${index}`)} AS ${quoteName(lift.column)}`)
  return `SELECT ${items([keyColumns, selected([id]), ...columns])} FROM (SELECT *, ${items(texts)} FROM (${extracted}))`
}

/** Returns the SQL that is false for a staged record without rows of the child table. */
export function mayHaveRows({ rows }: ChildTable): string {
  switch (rows.over) {
    case 'elements':
    case 'entries':
      return `left(${rows.json}::VARCHAR, 1) = '${rows.over === 'elements' ? '[' : '{'}' AND length(${rows.json}::VARCHAR) > 2`
    case 'labelled':
      return rows.lists.map(({ sql }) => `len(${sql}) > 0`).join(' OR ')
    default:
      return `len(${rows.parent === null ? rows.list : `s.${quoteName(rows.parent)}`}) > 0`
  }
}

/**
 * Returns the SELECT of a child table's rows, with columns in the order of `childColumns`. `number`: SQL of the record number over the staged record.
 */
export function childSelect(options: {
  layout: Layout
  child: ChildTable
  stage: string
  workspaceId: string
  number: string
  unknown: UnknownTree
}): string {
  const { layout, child, stage, unknown } = options
  const keys = items([...keyItems(layout, options.workspaceId), `${options.number} AS _record`])
  const keyColumns = items(keyNames(layout))
  const rows = child.rows
  if (rows.over === 'elements' || rows.over === 'entries') return unnestSelect(child, keyColumns, keys, stage)
  if (rows.over === 'labelled') {
    const lists = rows.lists.map(
      ({ sql, label }) =>
        `SELECT ${keys}, ${quoteText(label)} AS label, ${sql} AS l0 FROM ${stage} s WHERE len(${sql}) > 0`,
    )
    return `SELECT ${keyColumns}, ${selected(child.columns)} FROM
      (SELECT *, unnest(range(1, len(l0) + 1)) AS i FROM (${lists.join(' UNION ALL ')}))`
  }
  if (rows.over === 'texts') {
    const source = listSource({ keys, stage, rows })
    return `SELECT ${keyColumns}, ${selected(child.columns)} FROM (SELECT *, unnest(range(1, len(l0) + 1)) AS i FROM (${source}))`
  }
  const source = listSource({ keys, stage, rows })
  const extra = extraItem('e', elementUnknown(rows, unknown))
  const columns = child.columns.map(column => (column.name === 'extra' ? { ...column, expression: extra } : column))
  return `SELECT ${keyColumns}, ${selected(columns)} FROM
    (SELECT * EXCLUDE (l0), generate_subscripts(l0, 1) AS i, unnest(l0) AS e FROM (${source})) WHERE e IS NOT NULL`
}

/** Returns the unknown paths below the elements of a list, which may lie in the elements of another list. */
function elementUnknown(rows: { list: string; parent: string | null }, unknown: UnknownTree): UnknownTree | null {
  const key = /"([^"]+)"$/.exec(rows.list)![1]!
  const holder = rows.parent === null ? unknown : subtree(subtree(unknown, rows.parent), ELEMENT)
  return subtree(subtree(holder, key), ELEMENT)
}
