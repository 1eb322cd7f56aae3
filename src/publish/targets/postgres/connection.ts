// The connection to a target's PostgreSQL, through DuckDB's extension `postgres_scanner`. libpq takes the password from the environment of this
// process, so it is in no SQL text, no error, and not in `duckdb_databases()`.
import { quoteText } from '../../../catalog/layout.ts'
import { secretReader } from '../../../config/kept-secret.ts'
import type { PostgresPlace } from '../../../config/postgres-server.ts'
import { ATTACHED } from '../../attached.ts'
import type { TargetDatabase } from '../../target-database.ts'
import { type NamedPlace, postgresError } from './postgres-error.ts'

const PASSWORD_VARIABLE = 'PGPASSWORD'

/** A value of a connection string. */
const quoteValue = (value: string): string => `'${value.replace(/[\\']/g, '\\$&')}'`

/** Parameters of libpq. A server that has gone is noticed after a minute, and a lost client by the server as soon. */
export function connectionText({ connection }: Pick<PostgresPlace, 'connection'>): string {
  const { host, port, database, user, sslmode, sslrootcert } = connection
  const parameters = {
    ...{ host, port: String(port), dbname: database, user, sslmode },
    ...(sslrootcert !== null && { sslrootcert }),
    ...{ gssencmode: 'disable', client_encoding: 'UTF8', application_name: 'convohouse' },
    ...{ connect_timeout: '15', keepalives_idle: '30', keepalives_interval: '10', keepalives_count: '3' },
  }
  return Object.entries(parameters)
    .map(([name, value]) => `${name}=${quoteValue(value)}`)
    .join(' ')
}

/** The password, which is read for every connection, so that a changed one needs no restart. @throws SECRET_MISSING */
function readPassword({ name, passwordFile }: NamedPlace): string | null {
  if (passwordFile === null) return null
  return secretReader({ file: passwordFile }, {}, { what: `password of target ${name}`, code: 'SECRET_MISSING' })()
}

/**
 * Runs `work` with the password in the environment of this process, where libpq finds it.
 * @throws TARGET_UNUSABLE, TARGET_LOCKED, TARGET_CHANGED, SECRET_MISSING
 */
export async function usingPassword<T>(place: NamedPlace, work: () => Promise<T>): Promise<T> {
  const password = readPassword(place)
  if (password !== null) process.env[PASSWORD_VARIABLE] = password
  try {
    return await work()
  } catch (cause) {
    throw postgresError(place, { cause, password })
  } finally {
    delete process.env[PASSWORD_VARIABLE]
  }
}

/** An attached PostgreSQL. Within a transaction, all three use its connection. */
export interface Postgres {
  database: TargetDatabase
  /** Runs statements that PostgreSQL parses. */
  execute(sql: string): Promise<void>
  /** Runs a SELECT that PostgreSQL parses. */
  query<R>(sql: string): Promise<R[]>
}

/** With schema and types: whoever may create functions in a schema of the search path could have `hashtextextended(text, integer)` called instead. */
export const hashSql = (text: string): string => `pg_catalog.hashtextextended(${text}, 0::bigint)`

/** SQL that tries to take an advisory lock of the transaction. `key`: SQL of a text. */
export const lockSql = (key: string): string => `pg_catalog.pg_try_advisory_xact_lock(${hashSql(key)})`

const postgresOf = (database: TargetDatabase): Postgres => ({
  database,
  execute: sql => database.run(`CALL postgres_execute('${ATTACHED}', ${quoteText(sql)})`),
  query: sql => database.rows(`FROM postgres_query('${ATTACHED}', ${quoteText(sql)})`),
})

/** Attaches PostgreSQL for as long as `work` takes. @throws TARGET_UNUSABLE, TARGET_LOCKED, TARGET_CHANGED, SECRET_MISSING */
export const connected = <T>(
  database: TargetDatabase,
  target: NamedPlace,
  work: (postgres: Postgres) => Promise<T>,
): Promise<T> =>
  usingPassword(target, async () => {
    await database.run(`ATTACH ${quoteText(connectionText(target))} AS ${ATTACHED} (TYPE postgres)`)
    try {
      return await work(postgresOf(database))
    } finally {
      await database.run(`DETACH ${ATTACHED}`).catch(() => {})
    }
  })
