// What a SELECT names, read off the tree that DuckDB's own parser made of it (`json_serialize_sql`).

export interface TableName {
  catalog: string
  schema: string
  table: string
}

export interface Named {
  /** Functions in FROM. */
  tableFunctions: string[]
  /** Functions anywhere else, window functions and aggregates included. */
  functions: string[]
  tables: TableName[]
  /** True where a value is left open: `?`, `$1`. */
  parameters: boolean
}

type Node = Record<string, unknown>

/** Everything that the tree names, at any depth: subqueries, CTEs, lateral joins, pivots, default expressions. */
export function namesIn(tree: unknown): Named {
  const named: Named = { tableFunctions: [], functions: [], tables: [], parameters: false }
  // A list of what is left to visit, and no recursion: the caller decides how deep the tree is.
  const left: unknown[] = [tree]
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    if (Array.isArray(node)) left.push(...node.filter(isObject))
    else if (isObject(node)) left.push(...visit(node, named))
  }
  return named
}

/** Notes what the node names, and returns the nodes below it that are still to be visited. */
function visit(node: Node, named: Named): unknown[] {
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
  if (typeof node.function_name === 'string') named.functions.push(node.function_name)
  return children(node)
}

const children = (node: Node) => Object.values(node).filter(isObject)

const isObject = (value: unknown): value is Node => typeof value === 'object' && value !== null

const text = (value: unknown) => (typeof value === 'string' ? value : '')
