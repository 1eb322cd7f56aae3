// Settings of the PostgreSQL server of a target or of its catalog.
import { resolve } from 'node:path'
import { z } from 'zod'
import { filePath } from './values.ts'

/** PostgreSQL truncates names to 63 bytes, and the schemas of marts and models have a suffix. */
const SCHEMA = /^(?!pg_)[a-z_][a-z0-9_]{0,49}$/

const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'] as const

export const schemaName = z.string().regex(SCHEMA, 'must be a name of small letters, digits and underscores')

export const serverFields = {
  host: z.string().min(1),
  port: z.int().min(1).max(65_535).default(5_432),
  database: z.string().min(1),
  user: z.string().min(1),
  passwordFile: filePath.optional(),
  sslmode: z.enum(SSL_MODES).optional(),
  sslrootcert: filePath.optional(),
}

type Given = z.infer<z.ZodObject<typeof serverFields>>

export const verifiesByCertificates = ({ sslmode, sslrootcert }: Given): boolean =>
  !sslmode?.startsWith('verify-') || sslrootcert !== undefined

export const NO_CERTIFICATES = {
  path: ['sslrootcert'],
  error: 'is missing: give the file with the certificates that `sslmode` verifies the server by',
}

/** A schema of a database. */
export type PostgresPlace = ReturnType<typeof postgresPlace>

/** Returns text such as `db:5432/analytics, schema convohouse`. */
export const placeText = ({ connection: { host, port, database }, schema }: PostgresPlace): string =>
  `${host}:${port}/${database}, schema ${schema}`

/** Returns text that identifies the schema, which no other target may write. */
export const writtenSchema = ({ connection: { host, port, database } }: PostgresPlace, schema: string): string =>
  JSON.stringify([host, port, database, schema])

/** True for connections within one machine, which need no TLS. A host that begins with a slash is the folder of a socket. */
const isLocal = (host: string): boolean => host.startsWith('/') || ['localhost', '127.0.0.1', '::1'].includes(host)

/** Resolves paths relative to `folder`. */
export function postgresPlace(given: Given & { schema: string }, folder: string) {
  const { host, port, database, user, schema, sslmode, passwordFile, sslrootcert } = given
  const file = (path: string | undefined) => (path === undefined ? null : resolve(folder, path))
  const mode = sslmode ?? (isLocal(host) ? 'prefer' : 'require')
  return {
    connection: {
      ...{ host, port, database, user, sslmode: mode },
      /** Absolute path; null for libpq's default. */
      sslrootcert: file(sslrootcert),
    },
    /** Absolute path of the file with the password; null if the server requires none. */
    passwordFile: file(passwordFile),
    schema,
  }
}
