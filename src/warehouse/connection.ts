// The writing connection. All writes of the process go through it, one unit of work at a time.
import { AsyncLocalStorage } from 'node:async_hooks'
import { type DuckDBConnection, DuckDBTimestampTZValue } from '@duckdb/node-api'
import { quoteName, quoteText } from '../catalog/layout.ts'
import { warehouseFault } from './fault.ts'

// Texts of times in rows are UTC, regardless of the machine's time zone.
DuckDBTimestampTZValue.timezoneOffsetInMinutes = 0

/** A source of connections to the warehouse. */
export interface Connectable {
  connect(): Promise<DuckDBConnection>
}

export type Row = Record<string, unknown>

/** A statement's parameters by name: `{ workspace: 'w' }` for `$workspace`. Times are text (`iso`), which the SQL casts. */
export type Params = Record<string, string | number | boolean | null>

export interface Writer {
  run(sql: string, params?: Params): Promise<void>
  rows<R = Row>(sql: string, params?: Params): Promise<R[]>
  /** Appends plain objects to a table of the open warehouse, matching columns by name; times are ISO text or null. */
  append(table: string, rows: readonly Row[]): Promise<void>
  /** Fills a temporary table of text columns. For texts of kilobytes it takes a third of the time of `append`. */
  appendTexts(table: string, rows: readonly (readonly (string | null)[])[]): Promise<void>
  /** Runs `work` exclusively in one transaction, which commits when it resolves and rolls back when it throws. */
  transaction<T>(work: () => Promise<T>): Promise<T>
  /** Runs `work` exclusively, without a transaction. Transactions that `work` awaits are part of it. */
  exclusively<T>(work: () => Promise<T>): Promise<T>
}

/** Runs statements on a connection, one after the other as the caller awaits them. `rows` returns values as JSON represents them. */
export const statementsOn = (connection: DuckDBConnection): Pick<Writer, 'run' | 'rows'> => ({
  async run(sql, params) {
    await connection.run(sql, params)
  },
  async rows<R>(sql: string, params = {}) {
    return (await connection.runAndReadAll(sql, params)).getRowObjectsJson() as R[]
  },
})

/** Returns a time as the text of a TIMESTAMPTZ, to the microsecond. */
export function iso(ms: number): string {
  const whole = Math.floor(ms)
  const micros = Math.min(999, Math.round((ms - whole) * 1_000))
  const text = new Date(whole).toISOString()
  return micros === 0 ? text : `${text.slice(0, -1)}${String(micros).padStart(3, '0')}Z`
}

/** Matches each escape as a whole, because the backslash before `ud800` may itself be escaped. */
const ESCAPE = /\\(?:(ud[89a-f][0-9a-f]{2})|.)/g

/**
 * Returns JSON that DuckDB's reader accepts: each lone surrogate, in keys and values, becomes U+FFFD. It first searches
 * for `\ud`, which few texts contain: checking each escape took half of the staging time.
 */
export const wellFormed = (json: string): string =>
  json.includes('\\ud') ? json.replace(ESCAPE, (found, lone?: string) => (lone ? '\uFFFD' : found)) : json

/** Units of work that follow each other. */
interface Turns {
  last: Promise<unknown>
  isOver: boolean
}

/**
 * Makes a connection the writing one of `file`, which error messages name.
 * @throws HOME_UNUSABLE for faults of the file and its disk; other errors are DuckDB's own
 */
export function openWriter(connection: DuckDBConnection, file: string): Writer {
  const root: Turns = { last: Promise.resolve(), isOver: false }
  /** The turns within the exclusive work that is running. */
  const within = new AsyncLocalStorage<Turns>()

  const rethrow = (cause: unknown): never => {
    throw warehouseFault(file, cause) ?? cause
  }

  let statement: Promise<unknown> = Promise.resolve()
  /** Runs one statement at a time, even outside of exclusive work: an appender would close the result of another statement. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = statement.then(work).catch(rethrow)
    statement = turn.catch(() => {})
    return turn
  }

  async function run(sql: string, params?: Params): Promise<void> {
    await inTurn(() => connection.run(sql, params))
  }

  function exclusively<T>(work: () => Promise<T>): Promise<T> {
    const outer = within.getStore()
    const turns = outer === undefined || outer.isOver ? root : outer
    const inner: Turns = { last: Promise.resolve(), isOver: false }
    const turn = turns.last
      .then(() => within.run(inner, work))
      .finally(() => {
        inner.isOver = true
      })
    turns.last = turn.catch(() => {})
    return turn
  }

  async function rows<R>(sql: string, params: Params = {}): Promise<R[]> {
    const reader = await inTurn(() => connection.runAndReadAll(sql, params))
    return reader.getRowObjectsJson() as R[]
  }

  /** Column types of tables that rows were appended to. A table does not change its columns while the file is open. */
  const columnTypes = new Map<string, Record<string, string>>()
  async function typesOf(table: string): Promise<Record<string, string>> {
    const known = columnTypes.get(table)
    if (known) return known
    const columns = await rows<{ name: string; type: string }>(
      `SELECT column_name AS name, column_type AS type FROM (DESCRIBE ${table})`,
    )
    const types = Object.fromEntries(columns.map(({ name, type }) => [name, type]))
    columnTypes.set(table, types)
    return types
  }

  return {
    run,
    rows,
    async append(table, appended) {
      if (appended.length === 0) return
      const given = new Set(appended.flatMap(row => Object.keys(row)))
      const columns = Object.entries(await typesOf(table)).filter(([name]) => given.has(name))
      const names = columns.map(([name]) => quoteName(name))
      const shapes = columns.map(([name, type]) => [name, type.endsWith('[]') ? [type.slice(0, -2)] : type])
      const shape = quoteText(JSON.stringify([Object.fromEntries(shapes)]))
      // A literal, because DuckDB plans a statement twice if a parameter's type is unknown before binding.
      const json = quoteText(wellFormed(JSON.stringify(appended)))
      await run(
        `INSERT INTO ${table} (${names.join(', ')}) SELECT unnest(from_json(${json}, ${shape}), max_depth := 2)`,
      )
    },
    appendTexts: (table, rows) =>
      inTurn(async () => {
        if (rows.length === 0) return
        const appender = await connection.createAppender(table, 'main', 'temp')
        try {
          for (const row of rows) {
            for (const text of row) {
              if (text === null) appender.appendNull()
              else appender.appendVarchar(text)
            }
            appender.endRow()
          }
        } finally {
          appender.closeSync()
        }
      }),
    exclusively,
    transaction: work =>
      exclusively(async () => {
        await run('BEGIN')
        try {
          const result = await work()
          await run('COMMIT')
          return result
        } catch (error) {
          await run('ROLLBACK').catch(() => {})
          throw error
        }
      }),
  }
}
