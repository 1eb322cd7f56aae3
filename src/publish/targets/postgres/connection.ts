// Connects to a target's PostgreSQL through DuckDB's extension `postgres_scanner`. libpq reads the password from this
// process's environment, so it appears in no SQL text, no error, and not in `duckdb_databases()`. DuckDB passes on only the
// text of errors, so codes and hints depend on it; errors in languages other than English get the general code and hint.
import { quoteText } from '../../../catalog/layout.ts'
import { secretReader } from '../../../config/kept-secret.ts'
import { type PostgresPlace, placeText } from '../../../config/postgres-server.ts'
import { ConvohouseError, type ErrorCode } from '../../../core/errors.ts'
import { ATTACHED } from '../../attached.ts'
import type { TargetDatabase } from '../../target-database.ts'

/** Matches PostgreSQL's first line: `FATAL:  password authentication failed for user "x"`. Further lines may quote rows. */
const SERVER_ERROR = /(?:": |: )(\p{L}+): {2}([^\n]+)/u

/** Matches libpq's message about a connection. */
const CLIENT_ERROR = /": ([^\n]+)/

/** Matches DuckDB's quotes of a statement or a connection string, which do not help the user. */
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

type Hint = string | ((of: NamedPlace) => string)

const fileOf = ({ passwordFile }: PostgresPlace): string => passwordFile ?? 'a file that `passwordFile` names'

/**
 * Hints by the reason, or by a line of context such as `PL/pgSQL function audit() line 3 at RAISE`, with codes other than TARGET_UNUSABLE.
 * They are tried in this order, since an owner's objects may have any name.
 */
const KNOWN: readonly (readonly [RegExp, Hint, ErrorCode?])[] = [
  [
    /\b(?:PL\/\w+|SQL) function /,
    'A trigger of yours refuses rows of a published table: drop it, or let it accept them.',
  ],
  [/violates .*constraint/, 'Drop that constraint: a published table takes and loses any rows.'],
  [
    /row-level security/,
    of => `Run ALTER TABLE … DISABLE ROW LEVEL SECURITY, or ALTER ROLE ${of.connection.user} BYPASSRLS.`,
  ],
  [/already exists/, 'Another object of the schema has that name: rename it.'],
  [/\bview\b|is not a table/, 'A view has the name of a published table: drop it, and give the table its name back.'],
  [
    /read-only transaction/,
    of => `The server is a standby, or default_transaction_read_only is on for ${of.connection.user} or the database.`,
  ],
  [
    /lock timeout|could not obtain lock/,
    'A query of a reader or a VACUUM holds a table. The next publication tries again.',
    'TARGET_LOCKED',
  ],
  [
    /could not serialize access|deadlock detected/,
    'Nothing to do: the next publication starts from the present state of the target.',
    'TARGET_CHANGED',
  ],
  [
    /password|authentication failed|role ".*" does not exist/,
    of => `Correct \`user\`, or the password in ${fileOf(of)}: it is read again by the next publication.`,
  ],
  [
    /SSL|certificate|encryption/,
    of =>
      `\`sslmode\` is ${of.connection.sslmode}. Without TLS at the server: disable; if it demands TLS: require, or verify-full with \`sslrootcert\`.`,
  ],
  [
    /permission denied|must be owner/,
    of => `Grant it to ${of.connection.user}: docs/targets/postgres.md lists what the role needs.`,
  ],
]

const AS_BEFORE = "The target's rows are as they were before; the next publication tries again."

/** Returns the error of a target in PostgreSQL, without `password` in its text. */
export function postgresError(
  target: NamedPlace,
  { cause, password }: { cause: unknown; password: string | null },
): ConvohouseError {
  if (cause instanceof ConvohouseError) return cause
  const full = reasonOf(cause)
  const reason = password === null ? full : full.replaceAll(password, '***')
  const text = String((cause as Error | undefined)?.message ?? cause)
  const context = /\n(.* function .*)/.exec(text)?.[1] ?? ''
  const [, known, code = 'TARGET_UNUSABLE'] =
    KNOWN.find(([pattern]) => pattern.test(reason) || pattern.test(context)) ?? []
  const unknown = SERVER_ERROR.test(text)
    ? 'So PostgreSQL answered.'
    : 'Check that PostgreSQL runs and can be reached, and `host`, `port` and `database`.'
  return new ConvohouseError(code, {
    what: `Cannot use ${placeText(target)}: ${reason}`,
    hint: (typeof known === 'function' ? known(target) : known) ?? `${unknown} ${AS_BEFORE}`,
  })
}

const PASSWORD_VARIABLE = 'PGPASSWORD'

/** Quotes a value for a connection string. */
const quoteValue = (value: string): string => `'${value.replace(/[\\']/g, '\\$&')}'`

/** Returns the parameters of libpq. Either side notices within a minute that the other one is gone. */
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

/** Reads the password for every connection, so that a changed one takes effect without a restart. @throws SECRET_MISSING */
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

/** An attached PostgreSQL. Within a transaction, all three members use its connection. */
export interface Postgres {
  database: TargetDatabase
  /** Runs statements that PostgreSQL parses. */
  execute(sql: string): Promise<void>
  /** Runs a SELECT that PostgreSQL parses. */
  query<R>(sql: string): Promise<R[]>
}

/** Returns the SQL of a hash. Schema and types prevent users from substituting a function of the search path. */
export const hashSql = (text: string): string => `pg_catalog.hashtextextended(${text}, 0::bigint)`

/** Returns the SQL that tries to take the transaction's advisory lock. `key`: SQL of a text. */
export const lockSql = (key: string): string => `pg_catalog.pg_try_advisory_xact_lock(${hashSql(key)})`

const postgresOf = (database: TargetDatabase): Postgres => ({
  database,
  execute: sql => database.run(`CALL postgres_execute('${ATTACHED}', ${quoteText(sql)})`),
  query: sql => database.rows(`FROM postgres_query('${ATTACHED}', ${quoteText(sql)})`),
})

/** Attaches PostgreSQL while `work` runs. @throws TARGET_UNUSABLE, TARGET_LOCKED, TARGET_CHANGED, SECRET_MISSING */
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
