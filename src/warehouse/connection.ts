// The one connection that writes. All writing in the process goes through it, one piece of work at a time.
import type { DuckDBConnection } from '@duckdb/node-api'
import { quoteText } from '../catalog/layout.ts'
import { needsReattach, warehouseFault } from './fault.ts'
import { wellFormedJson } from './load/well-formed.ts'

/** Whatever makes connections to the warehouse. */
export interface Connectable {
  connect(): Promise<DuckDBConnection>
}

export type Row = Record<string, unknown>

export interface Writer {
  run(sql: string): Promise<void>
  rows<R = Row>(sql: string, params?: (string | number | null)[]): Promise<R[]>
  /** Appends plain objects to a table: `columns` gives each one's SQL type (`['VARCHAR']`: a list); times are ISO text or null. */
  append(table: string, columns: Record<string, string | [string]>, rows: Row[]): Promise<void>
  /** Fills a temporary table of text columns: a third of what `append` takes for texts of kilobytes. */
  appendTexts(table: string, rows: readonly (readonly (string | null)[])[]): Promise<void>
  /**
   * Runs `work` alone, in one transaction: committed when it resolves, rolled back when it throws. `before` runs alone
   * too, just before the transaction begins: nothing can change between what it reads and what `work` writes.
   */
  transaction<T>(work: () => Promise<T>, before?: () => Promise<void>): Promise<T>
  /** Runs `work` alone, without a transaction of its own. */
  exclusively<T>(work: () => Promise<T>): Promise<T>
}

/** A time as SQL writes it, to the microsecond. */
export function iso(ms: number): string {
  const whole = Math.floor(ms)
  const micros = Math.min(999, Math.round((ms - whole) * 1_000))
  const text = new Date(whole).toISOString().slice(0, -1)
  return micros === 0 ? text : text + String(micros).padStart(3, '0')
}

/** `file` is the warehouse's, for what is told of it; `reattach` attaches it anew, which a failed checkpoint makes necessary, and gives another connection. What its disk refuses is thrown as HOME_UNUSABLE, all else as DuckDB's own. */
export function openWriter(
  opened: DuckDBConnection,
  file: string,
  reattach: (connection: DuckDBConnection) => Promise<DuckDBConnection> = async connection => connection,
): Writer {
  let connection = opened
  let queue: Promise<unknown> = Promise.resolve()

  let isToBeReattached = false
  const told = (cause: unknown): never => {
    isToBeReattached ||= needsReattach(cause)
    throw warehouseFault(file, cause) ?? cause
  }

  let statement: Promise<unknown> = Promise.resolve()
  /** One statement at a time, those within and beside a piece of work: an appender closes the result that another one waits for. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = statement.then(work).catch(told)
    statement = turn.catch(() => {})
    return turn
  }

  async function run(sql: string): Promise<void> {
    await inTurn(() => connection.run(sql))
  }

  /** Where the disk still refuses, it is tried again with the next piece of work. */
  async function attached(): Promise<void> {
    if (!isToBeReattached) return
    await inTurn(async () => {
      connection = await reattach(connection)
    })
    isToBeReattached = false
  }

  function alone<T>(work: () => Promise<T>): Promise<T> {
    const turn = queue.then(attached).then(work)
    queue = turn.catch(() => {})
    return turn
  }

  return {
    run,
    async rows<R>(sql: string, params: (string | number | null)[] = []) {
      const reader = await inTurn(() => connection.runAndReadAll(sql, params))
      return reader.getRowObjectsJson() as R[]
    },
    async append(table, columns, rows) {
      if (rows.length === 0) return
      const names = Object.keys(columns).map(name => `"${name}"`)
      const shape = quoteText(JSON.stringify([columns]))
      // Written out: with a parameter, whose type is not known before it is bound, the statement would be planned twice.
      const json = quoteText(wellFormedJson(rows))
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
    exclusively: alone,
    transaction: (work, before) =>
      alone(async () => {
        await before?.()
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
