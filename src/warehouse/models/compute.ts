// Computes the rows of a model on a separate connection, so that loads can continue, and limits its time. The rows are
// stored in the instance's empty in-memory database until the writer compares them with the stored ones.
import type { DuckDBConnection } from '@duckdb/node-api'
import { quoteName } from '../../catalog/layout.ts'
import { ConvohouseError, type ErrorCode, isCode } from '../../core/errors.ts'
import { counted } from '../../core/words.ts'
import { logRange, type Watermark } from '../changes/log-changes.ts'
import { type Connectable, statementsOn } from '../connection.ts'
import { guard } from '../query/guard/guard.ts'
import { ABOUT_THE_SQL, CLASS, queryError } from '../query/query-error.ts'
import { watchStatement } from '../statements/watchdog.ts'
import type { Model } from './declaration.ts'
import type { ModelColumn } from './stored-models.ts'

export interface Computed {
  /** SQL name of the table with the rows. */
  table: string
  columns: ModelColumn[]
  rows: number
  /** The end of the change log when the rows were read. */
  position: Watermark
}

const KEY_TYPES: readonly string[] = ['VARCHAR', 'TIMESTAMPTZ', 'DATE', 'INTEGER', 'BIGINT']

/** Types that every target can hold; others are converted to one of them. */
const KEPT: readonly string[] = [
  'VARCHAR',
  'JSON',
  'BOOLEAN',
  'INTEGER',
  'BIGINT',
  'DOUBLE',
  'DATE',
  'TIMESTAMPTZ',
  'VARCHAR[]',
]

const CONVERTED: readonly (readonly [RegExp, string])[] = [
  [/^(TINYINT|SMALLINT|UTINYINT|USMALLINT|"NULL")$/, 'INTEGER'],
  // A sum of counts is a HUGEINT. The cast fails if BIGINT cannot hold it.
  [/^(HUGEINT|UHUGEINT|UINTEGER|UBIGINT)$/, 'BIGINT'],
  [/^(FLOAT|DECIMAL\(.*\))$/, 'DOUBLE'],
  // A time without a zone counts as UTC, the zone of the session.
  [/^TIMESTAMP/, 'TIMESTAMPTZ'],
  [/^(TIME|INTERVAL|UUID|ENUM)/, 'VARCHAR'],
]

const invalid = (what: string, hint = 'Correct the file.'): ConvohouseError =>
  new ConvohouseError('MODEL_INVALID', { what, hint })

/** Returns the stored type of a column, and the SQL of its value. */
function storedAs(name: string, type: string): { sqlType: string; value: string } {
  const column = quoteName(name)
  if (KEPT.includes(type)) return { sqlType: type, value: column }
  const isNested = /\[\d*\]$|^(STRUCT|MAP|UNION)/.test(type)
  if (isNested) return { sqlType: 'JSON', value: `to_json(${column})` }
  const [, sqlType] = CONVERTED.find(([pattern]) => pattern.test(type)) ?? []
  if (sqlType === undefined)
    throw invalid(`its column ${name} has the type ${type}, which targets cannot hold`, `Cast it: ${name}::VARCHAR.`)
  return { sqlType, value: `${column}::${sqlType}` }
}

/** @throws MODEL_INVALID */
function columnsOf({ columns, key, shared }: Model, described: readonly { name: string; type: string }[]) {
  const found = described.map(({ name, type }) => ({ name, ...storedAs(name, type) }))
  for (const { name } of columns)
    if (!found.some(one => one.name === name))
      throw invalid(`its header declares the column ${name}, which its SELECT does not return`)
  for (const name of key) {
    const { sqlType } = found.find(one => one.name === name)!
    if (!KEY_TYPES.includes(sqlType))
      throw invalid(
        `its key column ${name} has the type ${sqlType}; a key column is ${KEY_TYPES.join(', ')}`,
        `Cast it, or choose another key.`,
      )
  }
  if (found.some(({ name }) => /^rowid$/i.test(name)))
    throw invalid('its column rowid has the name of a column of DuckDB', 'Give it another name with AS.')
  return found.map(({ name, sqlType, value }) => {
    const { pii, about } = columns.find(one => one.name === name) ?? { pii: 'content' as const, about: '' }
    return { value, column: { name, sqlType, pii, about: about || (shared.includes(name) ? 'Shared' : name) } }
  })
}

/** Returns an SQL condition that the row lacks a key for every target. Databases clamp times outside of the years 1 to 9999. */
function lacksKey(name: string, columns: readonly ModelColumn[]): string {
  const { sqlType } = columns.find(column => column.name === name)!
  if (sqlType !== 'DATE' && sqlType !== 'TIMESTAMPTZ') return `${quoteName(name)} IS NULL`
  return `coalesce(${quoteName(name)} < DATE '0001-01-01' OR ${quoteName(name)} >= DATE '10000-01-01', true)`
}

/** @throws MODEL_FAILED if two rows have the same key, or a row has none */
async function expectKey(
  { rows }: ReturnType<typeof statementsOn>,
  { key }: Model,
  { table, columns }: Pick<Computed, 'table' | 'columns'>,
): Promise<number> {
  const [counts] = await rows<Record<'rows' | 'keys' | 'lacking', string>>(`SELECT count(*)::VARCHAR AS rows,
    count(DISTINCT (${key.map(quoteName).join(', ')}, 0))::VARCHAR AS keys,
    (count(*) FILTER (${key.map(name => lacksKey(name, columns)).join(' OR ')}))::VARCHAR AS lacking FROM ${table}`)
  const { rows: all, keys, lacking } = counts!
  const failed = (what: string, hint: string) => new ConvohouseError('MODEL_FAILED', { what, hint })
  if (lacking !== '0')
    throw failed(
      `${lacking} of its rows have NULL, or a time outside of the years 1 to 9999, in a key column`,
      'Replace it with coalesce(), or leave these rows out.',
    )
  if (keys !== all)
    throw failed(
      `its ${all} rows have only ${counted(Number(keys), 'different key')} (${key.join(', ')})`,
      'Name all columns that tell its rows apart, or group by these.',
    )
  return Number(all)
}

/** Returns the error of a model, without values. */
function modelError(cause: unknown): ConvohouseError {
  const error = queryError(cause)
  const { code, message, hint } = error
  if (code === 'MODEL_INVALID' || code === 'MODEL_FAILED') return error
  if (code === 'SQL_REFUSED') return invalid(message, hint)
  const about = ABOUT_THE_SQL.exec(message)?.[0]
  if (about !== undefined) return invalid(about, '`convohouse dictionary` lists tables and columns.')
  const what = CLASS.exec(message)?.[0] ?? 'DuckDB could not compute it'
  return new ConvohouseError('MODEL_FAILED', {
    what,
    hint: 'Run its SELECT with `convohouse query`, which shows the whole message.',
  })
}

const INTERRUPT_EVERY_MS = 50

/** Codes of models that passed a limit, now or before. */
export const LIMITS = ['QUERY_TIMEOUT', 'QUERY_MEMORY', 'QUERY_HELD'] as const satisfies readonly ErrorCode[]

interface Limited {
  model: Model
  timeoutMs: number
  signal: AbortSignal
}

/** Runs `work`, and interrupts the connection after `timeoutMs` or when `signal` aborts, until it ends. */
async function limited<T>(
  connection: DuckDBConnection,
  { model, timeoutMs, signal }: Limited,
  work: () => Promise<T>,
): Promise<T> {
  const untilMs = performance.now() + timeoutMs
  let stopped: ConvohouseError | undefined
  const unwatch = watchStatement({ kind: 'model', name: model.name, sql: model.sql, timeoutMs }, reason => {
    stopped = reason
  })
  const isOver = () => signal.aborted || stopped !== undefined || performance.now() > untilMs
  const timer = setInterval(() => isOver() && connection.interrupt(), INTERRUPT_EVERY_MS)
  try {
    return await work()
  } catch (error) {
    if (signal.aborted) throw new ConvohouseError('INTERRUPTED', { what: 'The models were not finished.' })
    if (stopped) throw stopped
    if (!isOver()) throw error
    throw new ConvohouseError('QUERY_TIMEOUT', {
      what: `it takes longer than ${Math.round(timeoutMs / 1_000)} s`,
      hint: 'Read less, or build it from a mart or from another model.',
    })
  } finally {
    clearInterval(timer)
    unwatch()
  }
}

/**
 * Computes the rows and passes them to `work`; then drops their table.
 * @throws MODEL_INVALID, MODEL_FAILED, QUERY_TIMEOUT, QUERY_MEMORY, QUERY_HELD, INTERRUPTED
 */
export async function computed<T>(
  instance: Connectable,
  limits: Limited,
  work: (found: Computed) => Promise<T>,
): Promise<T> {
  const { model } = limits
  const connection = await instance.connect()
  const statements = statementsOn(connection)
  const table = `memory.main.${quoteName(`model_${model.name}`)}`
  try {
    const found = await limited(connection, limits, async (): Promise<Computed> => {
      const sql = await guard(connection, model.sql)
      await statements.run('BEGIN')
      const { epoch, seq } = await logRange(statements)
      const described = await statements.rows<{ name: string; type: string }>(
        `SELECT column_name AS name, column_type AS type FROM (DESCRIBE FROM (${sql}\n))`,
      )
      const columns = columnsOf(model, described)
      const values = columns.map(({ value, column }) => `${value} AS ${quoteName(column.name)}`)
      await statements.run(`CREATE OR REPLACE TABLE ${table} AS SELECT ${values.join(', ')} FROM (${sql}\n)`)
      await statements.run('COMMIT')
      const stored = columns.map(({ column }) => column)
      return {
        table,
        columns: stored,
        rows: await expectKey(statements, model, { table, columns: stored }),
        position: { epoch, seq },
      }
    }).catch(cause => {
      throw isCode(cause, ...LIMITS, 'INTERRUPTED') ? cause : modelError(cause)
    })
    return await work(found)
  } finally {
    await connection.run('ROLLBACK').catch(() => {})
    await connection.run(`DROP TABLE IF EXISTS ${table}`).catch(() => {})
    connection.closeSync()
  }
}
