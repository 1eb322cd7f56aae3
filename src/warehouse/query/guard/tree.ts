// The names in a SELECT, from the tree of DuckDB's own parser (`json_serialize_sql`).

export interface TableName {
  catalog: string
  schema: string
  table: string
}

export type TreeNode = Record<string, unknown>

/** A call, or `x -> 'path'`, which is one without a name. */
export interface Call {
  name: string
  /** For `x.f(y)`, `x` comes first. */
  arguments: TreeNode[]
}

export interface Named {
  /** Functions in FROM. */
  tableFunctions: string[]
  /** Functions anywhere else, window functions and aggregates included. */
  functions: string[]
  /** Schemas and databases that functions are named with. `x.f(y)` also means `f(x, y)`. */
  functionSchemas: string[]
  calls: Call[]
  tables: TableName[]
  /** Number of parts of the longest column name: `a.b.c` has three. */
  longestName: number
  /** True if the SQL has a parameter: `?`, `$1`. */
  parameters: boolean
  /** True if the SQL casts to VARIANT, or to a type that contains it. */
  variants: boolean
}

/** Returns all names in the tree at any depth: in subqueries, CTEs, lateral joins, pivots, default expressions. */
export function namesIn(tree: unknown): Named {
  const named: Named = {
    tableFunctions: [],
    functions: [],
    functionSchemas: [],
    calls: [],
    tables: [],
    longestName: 0,
    parameters: false,
    variants: false,
  }
  // An explicit stack instead of recursion, because the caller's SQL determines the depth.
  const left: unknown[] = [tree]
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    if (Array.isArray(node)) pushAll(left, node.filter(isObject))
    else if (isObject(node)) pushAll(left, visit(node, named))
  }
  return named
}

/** Pushes nodes one by one: 150,000 values of an IN list as arguments of one `push` overflow the stack. */
function pushAll(left: unknown[], nodes: readonly unknown[]): void {
  for (const node of nodes) left.push(node)
}

/** Collects the node's names and returns its child nodes. */
function visit(node: TreeNode, named: Named): unknown[] {
  if (node.type === 'TABLE_FUNCTION' && isObject(node.function)) {
    const { function_name: name, ...rest } = node.function
    named.tableFunctions.push(text(name))
    named.functionSchemas.push(...schemasOf(node.function))
    return [...children(node).filter(child => child !== node.function), ...children(rest)]
  }
  if (node.type === 'BASE_TABLE') {
    named.tables.push({
      catalog: text(node.catalog_name),
      schema: text(node.schema_name),
      table: text(node.table_name),
    })
  }
  if (node.class === 'PARAMETER') named.parameters = true
  if (typeof node.function_name === 'string') {
    named.functions.push(node.function_name)
    named.functionSchemas.push(...schemasOf(node))
    named.calls.push({ name: node.function_name, arguments: argumentsOf(node) })
  }
  if (node.class === 'CAST' && holdsVariant(node.cast_type)) named.variants = true
  if (Array.isArray(node.column_names)) named.longestName = Math.max(named.longestName, node.column_names.length)
  // `x -> y` may be a lambda, or JSON and a path.
  if (node.class === 'LAMBDA' && isObject(node.expr)) named.calls.push({ name: '->', arguments: [node.expr] })
  return children(node)
}

const schemasOf = ({ schema, catalog }: TreeNode): string[] => [schema, catalog].map(text).filter(Boolean)

/** True for VARIANT, and for a type that contains it. */
function holdsVariant(type: unknown): boolean {
  const left = [type]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (!isObject(next)) continue
    if (next.id === 'VARIANT') return true
    pushAll(left, children(next))
  }
  return false
}

/** `x.f(y)` is parsed as a function of a schema x, and called as f(x, y). */
function argumentsOf({ children: given, schema }: TreeNode): TreeNode[] {
  const all = Array.isArray(given) ? given.filter(isObject) : []
  return schema === '' || schema === 'main' || schema === 'system' ? all.slice(1) : all
}

const children = (node: TreeNode) => Object.values(node).filter(isObject)

const isObject = (value: unknown): value is TreeNode => typeof value === 'object' && value !== null

const text = (value: unknown) => (typeof value === 'string' ? value : '')
