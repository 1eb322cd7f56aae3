// Errors of PostgreSQL and libpq as ours. DuckDB passes on their text only, so the codes and hints depend on it; in another language than English
// an error has the general code and hint.
import { type PostgresPlace, placeText } from '../../../config/postgres-server.ts'
import { ConvohouseError, type ErrorCode } from '../../../core/errors.ts'

/** `FATAL:  password authentication failed for user "x"`: PostgreSQL's first line. Further lines may quote rows. */
const SERVER_ERROR = /(?:": |: )(\p{L}+): {2}([^\n]+)/u

/** The message of libpq about a connection. */
const CLIENT_ERROR = /": ([^\n]+)/

/** Where DuckDB quotes a statement or a connection string, which says nothing to the user. */
const QUOTED = /"[^"]*"/g

/** The reason in one line, without SQL and rows. */
export function reasonOf(cause: unknown): string {
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

/** The statement that lets a role write where the transactions of the database or the role are read-only by default. */
export const writableByDefault = (user: string): string => `ALTER ROLE ${user} SET default_transaction_read_only = off`

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
    pattern: /database ".*" does not exist/,
    code: 'TARGET_UNUSABLE',
    hint: ({ connection: { database, user } }) =>
      `Create it: CREATE DATABASE ${database} OWNER ${user}. Or correct \`database\`.`,
  },
  {
    pattern: /SSL|certificate|encryption/,
    code: 'TARGET_UNUSABLE',
    hint: ({ connection: { sslmode } }) =>
      `\`sslmode\` is ${sslmode}. Without TLS at the server: disable; if it demands TLS: require, or verify-full with \`sslrootcert\`.`,
  },
  {
    pattern: /in a read-only transaction/,
    code: 'TARGET_UNUSABLE',
    hint: ({ connection: { user } }) =>
      `As an administrator: ${writableByDefault(user)}. If the server is a standby, set \`host\` to the primary.`,
  },
  {
    pattern: /permission denied|must be owner/,
    code: 'TARGET_UNUSABLE',
    hint: ({ connection: { user } }) => `Grant it to ${user}: docs/publishing.md lists what the role needs.`,
  },
  {
    pattern: /No space left on device/,
    code: 'TARGET_UNUSABLE',
    hint: () =>
      "Free disk space at PostgreSQL. The target's rows are as they were before; the next publication tries again.",
  },
  {
    pattern: /does not exist/,
    code: 'TARGET_UNUSABLE',
    hint: ({ name }) => `Run \`convohouse publish ${name} --refill\`, which creates what is missing.`,
  },
]

const AS_BEFORE =
  "Check that PostgreSQL runs, and `host` and `port`. The target's rows are as they were before; the next publication tries again."

/** The error of a target in PostgreSQL. `password` is removed from its text. */
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
