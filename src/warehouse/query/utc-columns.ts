// Determines which columns of a result are stored times, which are UTC. The type TIMESTAMP is not enough: a query can compute one in another
// zone (`… AT TIME ZONE 'America/Los_Angeles'`). So each column is traced through DuckDB's plan, and counts only if it is a stored column that
// nothing has moved to another zone.

import type { DuckDBConnection } from '@duckdb/node-api'
import { parseDuckdbJson } from './duckdb-json.ts'

/** The parts of DuckDB's serialized plan that are read here. */
interface Operator {
  type: string
  children: Operator[]
  expressions?: Expression[]
  groups?: Expression[]
  grouping_functions?: unknown[]
  name?: string
  returned_types?: { id: string }[]
  column_indexes?: { index: number }[]
  chunk_types?: unknown[]
  table_index?: number
  cte_index?: number
  join_type?: string
  projection_ids?: unknown[]
  projection_map?: unknown[]
  projections?: unknown[]
  left_projection_map?: unknown[]
  right_projection_map?: unknown[]
}

interface Expression {
  expression_class: string
  type: string
  name?: string
  index?: number
  return_type?: { id: string }
  children?: Expression[]
  child?: Expression
  case_checks?: { then_expr: Expression }[]
  else_expr?: Expression
  value?: { is_null: boolean }
}

/** For each output column of an operator, whether it is UTC; null where the columns are not known. */
type Origins = boolean[] | null

/** Functions whose result is one of their arguments' values. */
const PICKS = /^(min|max|first|last|any_value|arbitrary|mode|arg_min|arg_max|min_by|max_by)$/

/** Functions whose result is in the zone of one of their arguments: that argument's place. */
const KEEPS_ZONE: Readonly<Record<string, number>> = { date_trunc: 1, datetrunc: 1, time_bucket: 1 }

const ONE_INPUT = new Set(['LOGICAL_FILTER', 'LOGICAL_ORDER_BY', 'LOGICAL_LIMIT', 'LOGICAL_DISTINCT', 'LOGICAL_SAMPLE'])
const JOINS = new Set([
  'LOGICAL_COMPARISON_JOIN',
  'LOGICAL_ANY_JOIN',
  'LOGICAL_DELIM_JOIN',
  'LOGICAL_ASOF_JOIN',
  'LOGICAL_CROSS_PRODUCT',
  'LOGICAL_POSITIONAL_JOIN',
])
const SETS = new Set(['LOGICAL_UNION', 'LOGICAL_EXCEPT', 'LOGICAL_INTERSECT'])

/** Serializing a plan may fail and end the transaction. The query has read nothing by then, so a new transaction will do. */
const RESTART_TRANSACTION = ['ROLLBACK', 'BEGIN TRANSACTION READ ONLY']

/**
 * For each column of a guarded SELECT: true where it is a stored TIMESTAMP column, unchanged or through `min`, `max`, `coalesce`,
 * `date_trunc` and the like. False wherever that is not certain.
 */
export async function utcColumns(connection: DuckDBConnection, sql: string): Promise<boolean[]> {
  const plans = await planOf(connection, sql)
  return (plans.length === 1 && originsOf(plans[0]!, new Map())) || []
}

/** The plan; empty where DuckDB cannot serialize it. */
async function planOf(connection: DuckDBConnection, sql: string): Promise<Operator[]> {
  try {
    const reader = await connection.runAndReadAll('SELECT json_serialize_plan($1::VARCHAR)', [sql])
    return (parseDuckdbJson(String(reader.getRows()[0]![0])) as { plans?: Operator[] }).plans ?? []
  } catch {
    for (const statement of RESTART_TRANSACTION) await connection.run(statement)
    return []
  }
}

function originsOf(operator: Operator, ctes: Map<number, Origins>): Origins {
  const { type, children, expressions = [] } = operator
  // A projection map may drop columns, which shifts the ones after them.
  const maps = [
    'projection_ids',
    'projection_map',
    'projections',
    'left_projection_map',
    'right_projection_map',
  ] as const
  if (maps.some(map => (operator[map]?.length ?? 0) > 0)) return null
  if (type === 'LOGICAL_GET') return originsOfScan(operator)
  if (type === 'LOGICAL_CTE_REF') return ctes.get(operator.cte_index!) ?? null
  if (type === 'LOGICAL_DELIM_GET') return operator.chunk_types!.map(() => false)
  if (type === 'LOGICAL_MATERIALIZED_CTE') {
    ctes.set(operator.table_index!, originsOf(children[0]!, ctes))
    return originsOf(children[1]!, ctes)
  }
  const inputs = children.map(child => originsOf(child, ctes))
  const input = inputs[0] ?? null
  const through = (made: Expression[]) => made.map(expression => isStored(expression, input ?? []))
  if (type === 'LOGICAL_PROJECTION') return through(expressions)
  if (input === null) return null
  if (ONE_INPUT.has(type)) return input
  if (type === 'LOGICAL_WINDOW') return [...input, ...through(expressions)]
  if (type === 'LOGICAL_UNNEST') return [...input, ...expressions.map(() => false)]
  if (type === 'LOGICAL_AGGREGATE_AND_GROUP_BY') {
    const groupings = (operator.grouping_functions ?? []).map(() => false)
    return [...through(operator.groups!), ...through(expressions), ...groupings]
  }
  if (JOINS.has(type)) return originsOfJoin(operator, input, inputs[1] ?? null)
  if (SETS.has(type)) return input.map((stored, at) => stored && inputs.every(other => other?.[at]))
  return null
}

function originsOfScan({ name, column_indexes: columns = [], returned_types: types = [] }: Operator): boolean[] {
  return columns.map(({ index }) => name === 'seq_scan' && types[index]?.id === 'TIMESTAMP')
}

function originsOfJoin({ join_type: kind = 'INNER' }: Operator, left: boolean[], right: Origins): Origins {
  if (kind === 'SEMI' || kind === 'ANTI') return left
  if (kind === 'MARK') return [...left, false]
  const both = ['INNER', 'LEFT', 'RIGHT', 'FULL', 'SINGLE'].includes(kind)
  return both && right ? [...left, ...right] : null
}

function isStored(expression: Expression, input: boolean[]): boolean {
  const { children = [] } = expression
  const isOne = (part: Expression) => isStored(part, input)
  const isOneOrNull = (part: Expression) => isNull(part) || isOne(part)
  if (expression.return_type?.id !== 'TIMESTAMP') return false
  switch (expression.expression_class) {
    case 'BOUND_REF':
      return input[expression.index!] ?? false
    case 'BOUND_AGGREGATE':
    case 'BOUND_WINDOW':
      return PICKS.test(expression.name ?? '') && children.length > 0 && isOne(children[0]!)
    case 'BOUND_FUNCTION': {
      if (expression.name === 'greatest' || expression.name === 'least') return children.every(isOneOrNull)
      const place = KEEPS_ZONE[expression.name ?? '']
      return place !== undefined && children[place] !== undefined && isOne(children[place])
    }
    case 'BOUND_OPERATOR':
      return expression.type === 'OPERATOR_COALESCE' && children.every(isOneOrNull)
    case 'BOUND_CASE':
      return [...expression.case_checks!.map(check => check.then_expr), expression.else_expr!].every(isOneOrNull)
    default:
      return false
  }
}

/** True for a `NULL` literal, also one cast to a type. */
const isNull = ({ expression_class: kind, child, value }: Expression): boolean =>
  kind === 'BOUND_CAST' && child !== undefined ? isNull(child) : kind === 'BOUND_CONSTANT' && value?.is_null === true
