// The guard restricts a caller's SQL to the data of the warehouse. The process that holds the warehouse accesses files through the
// same DuckDB instance, so nothing else stops a caller's SQL from doing the same.
//
// The guard never binds unchecked SQL: binding `read_csv(…)` already opens the file, and extracting a PRAGMA statement already runs
// it. It only parses (`json_serialize_sql` touches nothing), checks every name in the tree, and then has DuckDB prepare the same text.

import { type DuckDBConnection, type DuckDBPreparedStatement, StatementType } from '@duckdb/node-api'
import { ConvohouseError } from '../../../core/errors.ts'
import { queryError } from '../query-error.ts'
import { isKnownName, type KnownNames } from './known-names.ts'
import { describesDatabase, isAllowedFunction, isAllowedTable, isAllowedTableFunction, looksLikeFile } from './rules.ts'
import { firstWord, hasWord, trimStatement } from './sql-text.ts'
import { type Call, type Named, namesIn, type TableName, type TreeNode } from './tree.ts'

/** Maximum length in characters. Longer SQL is a mistake, or an attempt to keep the parser busy. */
const LONGEST_SQL = 1_000_000

const ONLY_SELECT = 'Give one SELECT (or WITH, FROM, VALUES, DESCRIBE, SUMMARIZE, SHOW).'
const ONLY_WAREHOUSE =
  'Read only tables and views of the warehouse; SHOW TABLES and SHOW TABLES FROM marts list them, `convohouse dictionary` also models.'

/** Rules for the SQL of one caller, besides those for all. */
export interface GuardRules {
  /** The names of a database that does not change. If omitted, each qualified name is looked up in the catalog. */
  names?: KnownNames
  /** True if the SQL may have parameters, because their values are bound. */
  hasParams?: boolean
}

/**
 * Checks that `sql` is one SELECT, and that it names only tables, views and functions that stay inside the warehouse. WITH,
 * FROM, VALUES, TABLE, DESCRIBE, SUMMARIZE and SHOW TABLES are SELECTs to DuckDB's parser. Binds and runs nothing.
 *
 * @returns the checked text, without semicolons at its end: this text runs, not the caller's
 * @throws SQL_REFUSED for any other statement and for access to anything outside; SQL_INVALID if it does not parse
 */
export async function guard(connection: DuckDBConnection, sql: string, rules: GuardRules = {}): Promise<string> {
  if (sql.length > LONGEST_SQL) throw refuse(`The SQL is longer than ${LONGEST_SQL} characters.`, 'Shorten it.')
  // DuckDB's parser stops at a NUL, so the text that runs could differ from the checked one.
  if (sql.includes('\0')) throw refuse('The SQL contains a NUL character.', 'Remove it.')
  const text = trimStatement(sql)
  const tree = await parse(connection, text)
  if (!tree) throw notSelect(text)
  await check(connection, tree, rules)
  return text
}

/** Returns the names in FROM of one SELECT, CTEs included, without binding it. @throws as `guard`, unless it parses as one SELECT */
export async function tablesIn(connection: DuckDBConnection, sql: string): Promise<TableName[]> {
  const tree = await parse(connection, trimStatement(sql))
  return tree ? namesIn(tree).tables : []
}

/**
 * Prepares SQL that passed the guard.
 *
 * @throws SQL_INVALID with DuckDB's message where a name is unknown or a type does not fit.
 */
export async function prepareGuarded(connection: DuckDBConnection, guarded: string): Promise<DuckDBPreparedStatement> {
  const extracted = await connection.extractStatements(guarded).catch(cause => Promise.reject(queryError(cause)))
  if (extracted.count !== 1) throw refuse('The SQL contains more than one statement.', ONLY_SELECT)
  const statement = await extracted.prepare(0).catch(cause => Promise.reject(queryError(cause)))
  if (statement.statementType !== StatementType.SELECT) throw refuse('The SQL is not a SELECT.', ONLY_SELECT)
  return statement
}

/** Matches strings, which stay unchanged, and the constants that are not JSON. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?(?:Infinity|NaN)/g

/** Parses the JSON that DuckDB writes about SQL. Infinities and NaN become null. */
function parseDuckdbJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return JSON.parse(text.replace(STRING_OR_NUMBER, found => (found.startsWith('"') ? found : 'null')))
  }
}

interface Serialized {
  error: boolean
  error_type?: string
  error_message?: string
  statements?: unknown[]
}

/** Returns the tree of the single SELECT in the text; undefined for another kind of statement. */
async function parse(connection: DuckDBConnection, text: string): Promise<unknown> {
  const reader = await connection.runAndReadAll('SELECT json_serialize_sql($1::VARCHAR)', [text])
  const answer = parseDuckdbJson(String(reader.getRows()[0]![0])) as Serialized
  if (answer.error && answer.error_type === 'not implemented') return undefined
  if (answer.error || !answer.statements) throw await syntaxError(connection, text, answer)
  if (answer.statements.length === 0) {
    throw new ConvohouseError('SQL_INVALID', { what: 'The SQL is empty.', hint: ONLY_SELECT })
  }
  if (answer.statements.length > 1) {
    throw refuse(`The SQL contains ${answer.statements.length} statements.`, 'Give one statement at a time.')
  }
  return answer.statements[0]
}

/** Returns the syntax error, with its position from `extractStatements`. Text that does not parse runs nothing. */
async function syntaxError(connection: DuckDBConnection, text: string, answer: Serialized): Promise<ConvohouseError> {
  const shown = await connection.extractStatements(text).then(
    () => undefined,
    cause => queryError(cause),
  )
  return shown ?? new ConvohouseError('SQL_INVALID', { what: answer.error_message ?? 'The SQL does not parse.' })
}

async function check(connection: DuckDBConnection, tree: unknown, { names, hasParams }: GuardRules): Promise<void> {
  const named = namesIn(tree)
  checkFunctions(named)
  if (names?.isPartial) checkPartial(named, names)
  if (named.parameters && !hasParams) {
    throw new ConvohouseError('SQL_INVALID', { what: 'The SQL has a parameter.', hint: 'Write the value itself.' })
  }
  for (const name of named.tables) await checkTable(connection, name, names)
}

/** Refuses what would lead from the views of a partial database to the tables behind them, or to their statistics. */
function checkPartial({ tableFunctions, functions, functionSchemas }: Named, { places }: KnownNames): void {
  const outside =
    [...tableFunctions, ...functions].find(describesDatabase) ??
    functionSchemas.find(schema => places.has(schema.toLowerCase()))
  if (outside !== undefined)
    throw refuse(`${outside} is not allowed in queries without access to personal data.`, ONLY_WAREHOUSE)
}

function checkFunctions(named: Named): void {
  const outside =
    named.tableFunctions.find(name => !isAllowedTableFunction(name)) ??
    named.functions.find(name => !isAllowedFunction(name))
  if (outside !== undefined)
    throw refuse(
      `The function ${outside}() is not allowed in queries: it may access something outside the warehouse, or crash the process that runs the query.`,
      ONLY_WAREHOUSE,
    )
  for (const call of named.calls) checkCall(call)
  if (named.variants)
    throw refuse('VARIANT is not allowed in queries: a deeply nested value would crash the process.', 'Use JSON.')
  if (isNameTooLong(named.longestName))
    throw refuse(`A name of ${named.longestName} parts is too long.`, 'Use names of at most 100 parts.')
}

function checkCall(call: Call): void {
  const given = functionGiven(call)
  if (given === null || (given !== undefined && !isAllowedFunction(given)))
    throw refuse(
      `${call.name}() is called with a function that is not allowed in queries.`,
      'Write the name of an allowed function as a literal.',
    )
  if (mayBeTooDeep(call))
    throw refuse(
      `An argument of ${call.name} may be nested too deeply for DuckDB, and crash the process that runs the query.`,
      'Write the path, structure or value as a literal of at most 100 levels.',
    )
}

async function checkTable(connection: DuckDBConnection, name: TableName, names?: KnownNames): Promise<void> {
  const full = [name.catalog, name.schema, name.table].filter(Boolean).join('.')
  if (!isAllowedTable(name.table)) throw refuse(`"${full}" is not allowed in queries.`, ONLY_WAREHOUSE)
  const unqualified = full === name.table
  const isKnownHere = names ? isKnownName(names, name) : unqualified || null
  const { isKnown, closest } =
    isKnownHere === null ? await lookUp(connection, name) : { isKnown: isKnownHere, closest: null }
  if (looksLikeFile(name.table) || !isKnown) {
    const guess = closest ? `Did you mean ${closest}? ` : ''
    throw refuse(`"${full}" is no table or view of the warehouse, and files are not read.`, guess + ONLY_WAREHOUSE)
  }
}

/** DuckDB joins the parts of an unknown qualified name to a path, so `main.csv` would open a file. So only known names pass. Also returns a similar name. */
async function lookUp(connection: DuckDBConnection, { catalog, schema, table }: TableName) {
  const reader = await connection.runAndReadAll(
    `SELECT coalesce(bool_or(lower(t) = lower($table) AND CASE
         WHEN $catalog <> '' THEN lower(d) = lower($catalog) AND lower(s) = lower($schema)
         ELSE lower(s) = lower($schema) OR (lower(d) = lower($schema) AND s = 'main') END), false),
       arg_max(s || '.' || t, likeness) FILTER (likeness > 0.9)
     FROM (SELECT *, jaro_winkler_similarity(lower(t), lower($table)) AS likeness FROM (
       SELECT database_name AS d, schema_name AS s, table_name AS t FROM duckdb_tables()
       UNION ALL SELECT database_name, schema_name, view_name FROM duckdb_views()))
     WHERE d IN (current_database(), 'system', 'temp')`,
    { catalog, schema, table },
  )
  const [isKnown, closest] = reader.getRows()[0]! as [boolean, string | null]
  return { isKnown, closest }
}

/** Returns the error of a statement that is not a SELECT. */
function notSelect(text: string): ConvohouseError {
  if (pivots(text)) return unnamedPivot()
  const word = firstWord(text)
  const what = word ? `${word} is not allowed in queries, which only read the warehouse.` : 'The SQL is not a SELECT.'
  return refuse(what, ONLY_SELECT)
}

/** True for a SELECT with a PIVOT, the only SELECT that DuckDB splits into several statements. */
const pivots = (text: string): boolean =>
  ['PIVOT', 'PIVOT_WIDER'].some(word => hasWord(text, word)) &&
  ['PIVOT', 'PIVOT_WIDER', 'FROM', 'WITH', 'SELECT'].includes(firstWord(text) ?? '')

/** Returns the error of a PIVOT that does not name its values: DuckDB would need a separate statement to create their type. */
const unnamedPivot = (): ConvohouseError =>
  refuse(
    'PIVOT does not name the values that become columns: DuckDB splits it into several statements, and only one SELECT is run here.',
    "Name them: PIVOT conversations ON channel IN ('webchat', 'voice') USING count(*) GROUP BY day; or write a column for each: count(*) FILTER (channel = 'voice') AS voice.",
  )

const refuse = (what: string, hint: string) => new ConvohouseError('SQL_REFUSED', { what, hint })

/** Matches functions whose second and later arguments determine the depth of recursion. */
const STEERED = /^(json_(extract|transform|exists|type|value|keys|array_length|contains|each|tree|pretty)|from_json|->)/

/** Matches functions that take the name of another function. */
const BY_NAME = /^(list|array)_(aggr|aggregate)$|^aggregate$/

const DEEPEST = 100

/** True for a column name with too many parts. */
const isNameTooLong = (parts: number): boolean => parts > DEEPEST

/** Returns the function that a call names in an argument; undefined if there is none, null if the name is not a literal. */
function functionGiven({ name, arguments: [given] }: Call): string | null | undefined {
  if (!BY_NAME.test(name.toLowerCase()) || given === undefined) return undefined
  return literalText(given)
}

/** True if an argument of the call may be nested too deeply. */
const mayBeTooDeep = ({ name, arguments: given }: Call): boolean =>
  STEERED.test(name.toLowerCase()) && given.some(isTooDeep)

function isTooDeep(node: TreeNode): boolean {
  const { texts, columns, calls } = contentsOf(node)
  // Values derived from a column are not constant, and DuckDB accepts only constants as wildcard paths and structures.
  return (calls && !columns) || texts.some(text => levelsOf(text) > DEEPEST)
}

/** Matches calls that only combine their arguments. */
const MAKES = /^(list_value|struct_pack|row|map|[-+*/%])$/

/** Returns the texts in a node at any depth, and whether it contains columns or calls that may produce text. */
function contentsOf(node: TreeNode): { texts: string[]; columns: boolean; calls: boolean } {
  const found = { texts: [] as string[], columns: false, calls: false }
  const left: unknown[] = [node]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next !== 'object' || next === null) continue
    const { class: kind, function_name: name } = next as TreeNode
    if (kind === 'COLUMN_REF' || kind === 'SUBQUERY') found.columns = true
    if (kind === 'FUNCTION' && !MAKES.test(String(name))) found.calls = true
    const text = literalText(next as TreeNode)
    if (text !== null) found.texts.push(text)
    for (const value of Object.values(next)) left.push(value)
  }
  return found
}

function literalText(node: TreeNode): string | null {
  const { value } = (node.class === 'CONSTANT' ? node.value : {}) as { value?: unknown }
  return typeof value === 'string' ? value : null
}

/** Returns an upper bound of the nesting of a path, structure or type, counting brackets, wildcards and lists of lists. */
function levelsOf(text: string): number {
  let [depth, deepest] = [0, 0]
  for (const character of text) {
    if ('[{('.includes(character)) deepest = Math.max(deepest, ++depth)
    else if (']})'.includes(character)) depth -= 1
  }
  return Math.max(deepest, text.split('*').length - 1, text.split('[]').length - 1)
}
