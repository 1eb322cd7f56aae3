// What a SELECT names, read off the tree that DuckDB's own parser made of it (`json_serialize_sql`).

export interface TableName {
  catalog: string
  schema: string
  table: string
}

export type TreeNode = Record<string, unknown>

/** A call, or an operator that is none by name (`x -> 'path'`). */
export interface Call {
  name: string
  /** What it is given, behind what it is called on. */
  arguments: TreeNode[]
}

export interface Named {
  /** Functions in FROM. */
  tableFunctions: string[]
  /** Functions anywhere else, window functions and aggregates included. */
  functions: string[]
  calls: Call[]
  tables: TableName[]
  /** True where a value is left open: `?`, `$1`. */
  parameters: boolean
}

/** Everything that the tree names, at any depth: subqueries, CTEs, lateral joins, pivots, default expressions. */
export function namesIn(tree: unknown): Named {
  const named: Named = { tableFunctions: [], functions: [], calls: [], tables: [], parameters: false }
  // A list of what is left to visit, and no recursion: the caller decides how deep the tree is.
  const left: unknown[] = [tree]
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    if (Array.isArray(node)) pushAll(left, node.filter(isObject))
    else if (isObject(node)) pushAll(left, visit(node, named))
  }
  return named
}

/** One by one: as arguments of one call, 150,000 values of an IN list overflow the stack. */
function pushAll(left: unknown[], nodes: readonly unknown[]): void {
  for (const node of nodes) left.push(node)
}

/** Notes what the node names, and returns the nodes below it that are still to be visited. */
function visit(node: TreeNode, named: Named): unknown[] {
  if (node.type === 'TABLE_FUNCTION' && isObject(node.function)) {
    const { function_name: name, ...rest } = node.function
    named.tableFunctions.push(text(name))
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
    named.calls.push({ name: node.function_name, arguments: argumentsOf(node) })
  }
  // `x -> y` may be a lambda, or JSON and a path.
  if (node.class === 'LAMBDA' && isObject(node.expr)) named.calls.push({ name: '->', arguments: [node.expr] })
  return children(node)
}

/** `x.f(y)` is parsed as a function of a schema x, and called as f(x, y). */
function argumentsOf({ children: given, schema }: TreeNode): TreeNode[] {
  const all = Array.isArray(given) ? given.filter(isObject) : []
  return schema === '' || schema === 'main' || schema === 'system' ? all.slice(1) : all
}

const children = (node: TreeNode) => Object.values(node).filter(isObject)

const isObject = (value: unknown): value is TreeNode => typeof value === 'object' && value !== null

const text = (value: unknown) => (typeof value === 'string' ? value : '')
