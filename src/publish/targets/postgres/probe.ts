// Tests a target's PostgreSQL without changing it: that it can be reached, its schemas are not somebody else's, and the role has the rights
// that a publication needs.
import { quoteText } from '../../../catalog/layout.ts'
import { martsSchema, type PostgresTarget } from '../../../config/targets/postgres.ts'
import { placeOf } from '../../../config/targets.ts'
import { ConvohouseError } from '../../../core/errors.ts'
import { type TargetDatabase, transaction } from '../../target-database.ts'
import { connected, type Postgres } from './connection.ts'
import { writableByDefault } from './postgres-error.ts'
import { storedState } from './stored-state.ts'

interface Rights {
  version: string
  /** Null: the connection is not encrypted. */
  tls: string | null
  can_create_schema: boolean
  can_create_temporary: boolean
  is_read_only: boolean
}

/** Returns the statements that grant missing rights. */
async function missingRights(
  { query }: Postgres,
  { schema, connection: { user, database } }: PostgresTarget,
  rights: Rights,
): Promise<string[]> {
  const schemas = [schema, martsSchema(schema)]
  const existing = await query<{ name: string; usable: boolean }>(`
    SELECT nspname::text AS name, has_schema_privilege(oid, 'USAGE') AND has_schema_privilege(oid, 'CREATE') AS usable
    FROM pg_namespace WHERE nspname IN (${schemas.map(quoteText).join(', ')}) ORDER BY nspname`)
  const [others] = await query<{ count: number }>(`
    SELECT count(*)::int AS count FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname IN (${schemas.map(quoteText).join(', ')}) AND c.relkind IN ('r', 'p') AND NOT pg_has_role(c.relowner, 'USAGE')`)
  const isMissing = (name: string) => !existing.some(one => one.name === name)
  return [
    ...(rights.is_read_only ? [writableByDefault(user)] : []),
    ...(rights.can_create_temporary ? [] : [`GRANT TEMPORARY ON DATABASE ${database} TO ${user}`]),
    ...existing.filter(({ usable }) => !usable).map(({ name }) => `GRANT USAGE, CREATE ON SCHEMA ${name} TO ${user}`),
    ...(rights.can_create_schema
      ? []
      : schemas.filter(isMissing).map(name => `CREATE SCHEMA ${name} AUTHORIZATION ${user}`)),
    ...(others!.count === 0 ? [] : [`ALTER TABLE … OWNER TO ${user} (${others!.count} tables of the schemas)`]),
  ]
}

/**
 * @returns what was found, for people: `PostgreSQL 18.1 as loader, TLSv1.3`
 * @throws TARGET_UNUSABLE, SECRET_MISSING
 */
export const probePostgres = (database: TargetDatabase, target: PostgresTarget): Promise<string> =>
  connected(database, target, postgres =>
    transaction(postgres, async () => {
      await storedState(postgres, target)
      const [rights] = await postgres.query<Rights>(`
        SELECT current_setting('server_version') AS version,
          (SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl) AS tls,
          has_database_privilege(current_database(), 'CREATE') AS can_create_schema,
          has_database_privilege(current_database(), 'TEMPORARY') AS can_create_temporary,
          current_setting('default_transaction_read_only') = 'on' AS is_read_only`)
      const missing = await missingRights(postgres, target, rights!)
      if (missing.length > 0)
        throw new ConvohouseError('TARGET_UNUSABLE', {
          what: `The role ${target.connection.user} lacks rights for ${placeOf(target)}.`,
          hint: `As an administrator: ${missing.join('; ')}.`,
        })
      return `PostgreSQL ${rights!.version.split(' ', 1)[0]} as ${target.connection.user}, ${rights!.tls ?? 'without TLS'}`
    }),
  )
