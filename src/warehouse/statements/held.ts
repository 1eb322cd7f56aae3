// Statements of the owner (queries, models, checks) that passed a limit and could not be interrupted, so that their process had to be
// ended. They are held, since each try would cost another process: a query for an hour, a model or a check until its text or a limit changes.
import { createHash } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConvohouseError } from '../../core/errors.ts'
import { durationText, HOUR, MINUTE } from '../../core/time.ts'
import { outlineOf } from '../query/guard/sql-text.ts'

export interface Statement {
  kind: 'query' | 'model' | 'check'
  /** Name of the model or check; empty for a query. */
  name: string
  sql: string
  timeoutMs: number
}

export const queryStatement = (sql: string, timeoutMs: number): Statement => ({
  kind: 'query',
  name: '',
  sql,
  timeoutMs,
})

/** Returns the name for people: of a query, its text without literals. */
export const shownName = ({ kind, name, sql }: Statement): string => (kind === 'query' ? outlineOf(sql) : name)

export interface HeldStatement extends Pick<Statement, 'kind' | 'timeoutMs'> {
  /** As `shownName` returns it. */
  name: string
  /** Hash of the SQL. */
  hash: string
  limit: 'memory' | 'time'
  /** DuckDB's memory limit, such as `640MB`. */
  memoryLimit: string
  /** ISO-8601, UTC. */
  heldAt: string
}

const FILE = 'held-statements.json'

const hashOf = ({ kind, name, sql }: Statement): string =>
  createHash('sha256')
    .update(JSON.stringify([kind, name, sql]))
    .digest('hex')
    .slice(0, 32)

/** Returns the statements held in a data folder. A missing or damaged file holds none. */
export function heldStatements(home: string, nowMs = Date.now()): HeldStatement[] {
  try {
    const held = JSON.parse(readFileSync(join(home, FILE), 'utf8')) as HeldStatement[]
    return held.filter(({ kind, heldAt }) => kind !== 'query' || Math.abs(nowMs - Date.parse(heldAt)) < HOUR)
  } catch {
    return []
  }
}

/** Adds statements, synchronously, because the process is about to be ended. */
export function holdStatements(
  home: string,
  statements: readonly Statement[],
  passed: Pick<HeldStatement, 'limit' | 'memoryLimit'>,
): void {
  const heldAt = new Date().toISOString()
  const added = statements.map(statement => {
    const { kind, timeoutMs } = statement
    return { kind, name: shownName(statement), timeoutMs, hash: hashOf(statement), ...passed, heldAt }
  })
  write(home, [...heldStatements(home).filter(held => !added.some(one => isOfSame(held, one))), ...added])
}

/** True for the same query, or for the same model or check, whatever its SQL. */
const isOfSame = (a: HeldStatement, { kind, name, hash }: Pick<HeldStatement, 'kind' | 'name' | 'hash'>): boolean =>
  a.hash === hash || (kind !== 'query' && a.kind === kind && a.name === name)

function write(home: string, held: readonly HeldStatement[]): void {
  const path = join(home, FILE)
  const part = `${path}.${process.pid}.part`
  writeFileSync(part, JSON.stringify(held), { mode: 0o600 })
  renameSync(part, path)
}

/** Returns which limit the statement passed, for messages: `its memory limit (640MB)`. */
export const limitText = ({ limit, memoryLimit, timeoutMs }: Omit<HeldStatement, 'hash' | 'heldAt'>): string =>
  limit === 'memory' ? `its memory limit (${memoryLimit})` : `its time limit (${durationText(Math.round(timeoutMs))})`

/**
 * Returns the error of a statement that is held; null if it is not, or has a higher limit now. `memoryLimit`: that of this
 * process; omitted by a client, which does not know it.
 */
function refusalOf(all: readonly HeldStatement[], statement: Statement, memoryLimit?: string): ConvohouseError | null {
  const hash = hashOf(statement)
  const held = all.find(one => one.hash === hash)
  if (!held) return null
  const isRaised =
    held.limit === 'memory'
      ? memoryLimit !== undefined && memoryLimit !== held.memoryLimit
      : statement.timeoutMs > held.timeoutMs
  if (isRaised) return null
  const leftMs = Math.max(MINUTE, Date.parse(held.heldAt) + HOUR - Date.now())
  return new ConvohouseError('QUERY_HELD', {
    what: `The ${held.kind} passed ${limitText(held)}, and DuckDB could not interrupt it: the process that ran it had to be ended.`,
    hint:
      held.kind === 'query'
        ? `Write it differently, or raise the limit. The same query is accepted again in ${durationText(Math.ceil(leftMs / MINUTE) * MINUTE)}.`
        : 'It is tried again when its file or the limit changes.',
  })
}

/** Returns why the process that ran a query has ended, if it was the query; null otherwise. */
export const whyEnded = (home: string, statement: Statement): ConvohouseError | null =>
  refusalOf(heldStatements(home), statement)

/** Lets a statement run, and forgets what was held of it before its SQL or the limit changed. @throws QUERY_HELD */
export function admit(home: string, statement: Statement, memoryLimit: string): void {
  const all = heldStatements(home)
  if (all.length === 0) return
  const refusal = refusalOf(all, statement, memoryLimit)
  if (refusal) throw refusal
  const others = all.filter(held => !isOfSame(held, { ...statement, hash: hashOf(statement) }))
  if (others.length === all.length) return
  try {
    write(home, others)
  } catch {
    // Where the folder cannot be written, `status` goes on to list it.
  }
}
