// SQL that stresses DuckDB: functions with deeply nested or huge arguments, and deeply nested syntax. A case is
// determined by its seed and number.
import { Draw } from '../../src/sandbox/world/random.ts'

/** A row of `duckdb_functions()`. */
export interface FunctionFacts {
  name: string
  kind: 'scalar' | 'aggregate' | 'macro' | 'table' | 'table_macro'
  /** Types of the parameters. */
  parameters: string[]
}

/** Opening tokens and their closing tokens. */
const BRACKETS: [string, string][] = [
  ['[', ']'],
  ['{"a":', '}'],
  ['(', ')'],
  ['((?:a|', '))*'],
  ['SELECT (', ')'],
  ['$.', ''],
]
const DEPTHS = [1, 100, 1_000, 10_000, 100_000, 1_000_000]

const quote = (text: string): string => `'${text.replaceAll("'", "''")}'`

function textArgument(draw: Draw): string {
  const [open, close] = draw.pick(BRACKETS)
  const depth = draw.pick(DEPTHS)
  return draw.pick([
    `repeat(${quote(open)}, ${depth})`,
    `repeat(${quote(open)}, ${depth}) || '1' || repeat(${quote(close)}, ${depth})`,
    `repeat('x', ${depth * 10})`,
    `repeat('9', ${depth})`,
    `''`,
    `'NaN'`,
    `chr(0) || repeat(chr(128512), ${depth})`,
    `'$.a'`,
    `'%Y-%m-%d'`,
    `'{"a": [1, 2, {"b": null}]}'`,
  ])
}

const NUMBERS = ['0', '-1', '255', '1000000', '-2147483648', '9223372036854775807']
const DOUBLES = ["'inf'::DOUBLE", "'-inf'::DOUBLE", "'nan'::DOUBLE", '1e308', '-1e308', '5e-324', '0.5', '0.0']
const TIMES = ["'infinity'", "'-infinity'", "'0001-01-01'", "'290000-01-01 (BC)'", "'2024-02-29'", "'294246-01-01'"]

function listArgument(draw: Draw): string {
  const depth = draw.pick([1, 10, 100, 1_000])
  return draw.pick([
    `range(${draw.pick(DEPTHS)})`,
    '[]',
    `[${anyArgument(draw)}]`,
    `${'['.repeat(depth)}1${']'.repeat(depth)}`,
    `list_transform(range(${draw.pick([1, 1_000, 100_000])}), lambda x: repeat('[', 1000))`,
    `['a', NULL, ${textArgument(draw)}]`,
  ])
}

function structArgument(draw: Draw): string {
  const depth = draw.pick([1, 10, 100, 900])
  return `${"{'a': ".repeat(depth)}1${'}'.repeat(depth)}`
}

const MAPS = ['MAP {}', "MAP {'a': 1, 'b': NULL}", 'MAP(range(100000), range(100000))', 'map([1], [range(100000)])']

const LAMBDAS = ['lambda x: x', 'lambda x, y: x', 'lambda x: NULL', "lambda x: repeat('[', 100000)"]

const anyArgument = (draw: Draw): string =>
  draw.pick([textArgument(draw), draw.pick(NUMBERS), draw.pick(DOUBLES), `TIMESTAMPTZ ${draw.pick(TIMES)}`, 'NULL'])

/** Returns an argument, usually of that type, rarely of any type, because functions cast their arguments. */
function argumentOf(type: string, draw: Draw): string {
  if (draw.unit() < 0.05) return anyArgument(draw)
  if (/LAMBDA/.test(type)) return draw.pick(LAMBDAS)
  if (/\[\d*\]|LIST/.test(type)) return listArgument(draw)
  if (/STRUCT/.test(type)) return structArgument(draw)
  if (/MAP/.test(type)) return draw.pick(MAPS)
  if (/JSON/.test(type)) return `(${textArgument(draw)})`
  if (/VARCHAR|BLOB|BIT/.test(type)) {
    const cast = /BLOB|BIT/.exec(type)
    return cast ? `(${textArgument(draw)})::${cast[0]}` : textArgument(draw)
  }
  if (/INT/.test(type) && !/INTERVAL/.test(type)) return draw.pick(NUMBERS)
  if (/DOUBLE|FLOAT|DECIMAL/.test(type)) return draw.pick(DOUBLES)
  if (/TIMESTAMPTZ|DATE|TIME/.test(type)) return `${draw.pick(TIMES)}::${type.replace(/[^A-Z_ ]/g, '')}`
  if (/INTERVAL/.test(type))
    return draw.pick(["INTERVAL '1 day'", "INTERVAL '178000000 years'", 'to_days(-2147483648)'])
  if (/BOOLEAN/.test(type)) return draw.pick(['true', 'false', 'NULL'])
  return draw.pick([anyArgument, listArgument, structArgument, (d: Draw) => d.pick(MAPS)])(draw)
}

function call({ name, kind, parameters }: FunctionFacts, draw: Draw): string {
  const given = [...parameters, ...(draw.unit() < 0.1 ? ['ANY'] : [])]
  const args = given.map(type => argumentOf(type, draw)).join(', ')
  const called = `"${name.replaceAll('"', '""')}"(${args})`
  if (kind === 'table' || kind === 'table_macro') return `SELECT count(*) FROM (FROM ${called} LIMIT 100000)`
  if (kind === 'aggregate') return `SELECT ${called} FROM range(${draw.pick([1, 3_000])}) t(i)`
  return draw.pick([`SELECT ${called}`, `SELECT ${called} FROM range(3)`])
}

type Nesting = (depth: number) => string
const around =
  (open: string, core: string, close: string): Nesting =>
  n =>
    open.repeat(n) + core + close.repeat(n)

/** Ways to nest or repeat syntax. */
const NESTINGS: Record<string, Nesting> = {
  parentheses: around('SELECT (', '1', ')'),
  lists: n => `SELECT ${'['.repeat(n)}1${']'.repeat(n)}`,
  fields: n => `SELECT a${'.a'.repeat(n)} FROM (SELECT 1 AS a)`,
  casts: n => `SELECT 1${'::INT'.repeat(n)}`,
  structTypes: n => `SELECT NULL::${'STRUCT(a '.repeat(n)}INT${')'.repeat(n)}`,
  sum: n => `SELECT 1${'+1'.repeat(n)}`,
  cases: n => `SELECT ${'CASE WHEN true THEN '.repeat(n)}1${' END'.repeat(n)}`,
  inList: n => `SELECT 1 IN (${'1,'.repeat(n)}1)`,
  subqueries: n => `${'SELECT * FROM ('.repeat(n)}SELECT 1${')'.repeat(n)}`,
  nestedUnions: n => `${'(SELECT 1 UNION ALL '.repeat(n)}SELECT 1${')'.repeat(n)}`,
  nestedJoins: n => `SELECT count(*) FROM ${'('.repeat(n)}range(2) a${' CROSS JOIN (SELECT 1))'.repeat(n)}`,
  ctes: n =>
    `WITH c0 AS (SELECT 1)${Array.from({ length: n }, (_, at) => `, c${at + 1} AS (FROM c${at})`).join('')} FROM c${n}`,
  windows: n => `SELECT ${'sum(1) OVER (),'.repeat(n)}1`,
  lambdas: n => `SELECT ${'list_transform([1], lambda x: '.repeat(n)}1${')'.repeat(n)}`,
  pivots: n => `FROM ${'(PIVOT '.repeat(n)}(SELECT 1 AS a, 2 AS b)${' ON a IN (1) USING sum(b))'.repeat(n)}`,
}

/** Queries that build a deeply nested value at run time. */
const DEEP_VALUES: Record<string, Nesting> = {
  jsonToType: n => `SELECT from_json(repeat('[', ${n}) || repeat(']', ${n}), '"JSON"')`,
  jsonCast: n => `SELECT (repeat('[', ${n}) || repeat(']', ${n}))::JSON`,
  listText: n => `SELECT (repeat('[', ${n}) || repeat(']', ${n}))::INT[]`,
  serialize: n => `SELECT json_serialize_sql('SELECT ' || repeat('(', ${n}) || '1' || repeat(')', ${n}))`,
  structure: n => `SELECT json_structure(repeat('[', ${n}) || repeat(']', ${n}))`,
  mergePatch: n =>
    `SELECT json_merge_patch(repeat('{"a":', ${n}) || '1' || repeat('}', ${n}), repeat('{"a":', ${n}) || '2' || repeat('}', ${n}))`,
  wildcard: n => `SELECT json_extract(repeat('[', ${n}) || repeat(']', ${n}), '$' || repeat('[*]', ${n}))`,
  regexp: n => `SELECT regexp_matches('a', repeat('(', ${n}) || 'a' || repeat(')*', ${n}))`,
}

const SYNTAX_DEPTHS = [10, 500, 1_000, 5_000, 20_000, 100_000, 400_000]

const bySize = (nesting: Nesting, depth: number): string => {
  const sql = nesting(Math.min(depth, 900_000))
  return sql.length <= 1_000_000 ? sql : nesting(Math.floor((depth * 900_000) / sql.length))
}

/** Returns a case: every fourth is the next nesting; the others call a random function. */
export function caseAt(seed: number, number: number, functions: readonly FunctionFacts[]): string {
  const draw = new Draw(seed, number, 0)
  const kinds = [NESTINGS, DEEP_VALUES] as const
  if (number % 4 === 0) {
    const nestings = Object.values(kinds[(number / 4) % 2]!)
    return bySize(nestings[Math.floor(number / 8) % nestings.length]!, draw.pick(SYNTAX_DEPTHS))
  }
  return call(functions[Math.floor(draw.unit() * functions.length)]!, draw)
}
