// The connection to a target's PostgreSQL, through DuckDB's extension `postgres_scanner`. libpq takes the password from the environment of this
// process, so it is in no SQL text, no error, and not in `duckdb_databases()`. DuckDB passes on only the text of errors, so codes and hints depend
// on it; in another language than English an error has the general code and hint.
import { quoteText } from '../../../catalog/layout.ts'
import { secretReader } from '../../../config/kept-secret.ts'
import { type PostgresPlace, placeText } from '../../../config/postgres-server.ts'
import { ConvohouseError, type ErrorCode } from '../../../core/errors.ts'
import { ATTACHED } from '../../attached.ts'
import type { TargetDatabase } from '../../target-database.ts'

/** `FATAL:  password authentication failed for user "x"`: PostgreSQL's first line. Further lines may quote rows. */
const SERVER_ERROR = /(?:": |: )(\p{L}+): {2}([^\n]+)/u

/** The message of libpq about a connection. */
const CLIENT_ERROR = /": ([^\n]+)/

/** Where DuckDB quotes a statement or a connection string, which says nothing to the user. */
const QUOTED = /"[^"]*"/g

/** Returns the reason in one line, without SQL and rows. */
function reasonOf(cause: unknown): string {
  const text = String((cause as Error | undefined)?.message ?? cause)
  const [, , said] = SERVER_ERROR.exec(text) ?? []
  if (said !== undefined) return said.trim()
  const [, client] = CLIENT_ERROR.exec(text) ?? []
  return (client ?? text.split('\n')[0]!.replace(QUOTED, '…')).trim()
}

/** The place of the target `name`. */
export type NamedPlace = PostgresPlace & { name: string }

interface Known {
  pattern: RegExp
  code: Extract<ErrorCode, 'TARGET_UNUSABLE' | 'TARGET_LOCKED' | 'TARGET_CHANGED'>
  hint: (target: NamedPlace) => string
}

const fileOf = ({ passwordFile }: PostgresPlace): string => passwordFile ?? 'a file that `passwordFile` names'

const KNOWN: readonly Known[] = [
  {
    pattern: /lock timeout|could not obtain lock/,
    code: 'TARGET_LOCKED',
    hint: () => 'A query of a reader or a VACUUM holds a table. The next publication tries again.',
  },
  {
    pattern: /could not serialize access|deadlock detected/,
    code: 'TARGET_CHANGED',
    hint: () => 'Nothing to do: the next publication starts from the present state of the target.',
  },
  {
    pattern: /password|authentication failed|role ".*" does not exist/,
    code: 'TARGET_UNUSABLE',
    hint: target => `Correct \`user\`, or the password in ${fileOf(target)}: it is read again by the next publication.`,
  },
  {
    pattern: /SSL|certificate|encryption/,
    code: 'TARGET_UNUSABLE',
    hint: ({ connection: { sslmode } }) =>
      `\`sslmode\` is ${sslmode}. Without TLS at the server: disable; if it demands TLS: require, or verify-full with \`sslrootcert\`.`,
  },
  {
    pattern: /permission denied|must be owner/,
    code: 'TARGET_UNUSABLE',
    hint: ({ connection: { user } }) => `Grant it to ${user}: docs/targets/postgres.md lists what the role needs.`,
  },
]

const AS_BEFORE =
  "Check that PostgreSQL runs and can be written, and `host`, `port` and `database`. The target's rows are as they were before; the next publication tries again."

/** Returns the error of a target in PostgreSQL. `password` is removed from its text. */
export function postgresError(
  target: NamedPlace,
  { cause, password }: { cause: unknown; password: string | null },
): ConvohouseError {
  if (cause instanceof ConvohouseError) return cause
  const full = reasonOf(cause)
  const reason = password === null ? full : full.replaceAll(password, '***')
  const known = KNOWN.find(({ pattern }) => pattern.test(reason))
  return new ConvohouseError(known?.code ?? 'TARGET_UNUSABLE', {
    what: `Cannot use ${placeText(target)}: ${reason}`,
    hint: known?.hint(target) ?? AS_BEFORE,
  })
}

const PASSWORD_VARIABLE = 'PGPASSWORD'

/** Returns a value of a connection string. */
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

/** Returns the password, which is read for every connection, so that a changed one needs no restart. @throws SECRET_MISSING */
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

/** Returns the SQL that tries to take an advisory lock of the transaction. `key`: SQL of a text. */
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
