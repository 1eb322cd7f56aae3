// The target `postgres`: tables in two schemas of a PostgreSQL database. One transaction applies a package together with its watermark:
// readers see the previous state until the commit. Tables are never dropped, because users' views depend on them.
//
// A transaction holds an advisory lock and compares the watermark before it changes anything, so that of two publications the later one fails.
import { quoteName, quoteText } from '../../../catalog/layout.ts'
import { martsSchema, type PostgresTarget } from '../../../config/targets/postgres.ts'
import { placeOf } from '../../../config/targets.ts'
import { ATTACHED, insertRows, sumsOf } from '../../attached.ts'
import type { Package, PackagedTable, PackageHead } from '../../package.ts'
import { postgresIndex, SEARCHED } from '../../search.ts'
import { lockedTarget, type TargetDatabase, transaction } from '../../target-database.ts'
import type { OpenTarget } from '../../target-port.ts'
import { expectBase, type TargetWatermark, WATERMARK_TABLE } from '../../watermark.ts'
import { fillKeys, replacementsOf, replaceRows, temporaryTables } from './changed-rows.ts'
import { connected, lockSql, type Postgres } from './connection.ts'
import { storedValue } from './representation.ts'
import { expectOwn, placeIn, quotedPlace, type StoredState, storedState, TABLES_TABLE } from './stored-state.ts'
import { addedColumns, bookkeepingTables, commentsOf, createTable, expectColumns, indexesOf } from './table-ddl.ts'

/**
 * The role's own limits may be too short for a publication. Types are compared by their unquoted names, and rows as text with all digits and
 * zones. The server notices a lost client within a minute, which frees its lock. A DDL statement waits only ten seconds for readers, since
 * later readers queue behind it. With the default cost of a random page, PostgreSQL would read all of a large table to find 1 % of it.
 */
const SETTINGS = `SET LOCAL statement_timeout = 0; SET LOCAL quote_all_identifiers = off; SET LOCAL random_page_cost = 1.1;
  SET LOCAL extra_float_digits = 1; SET LOCAL DateStyle = 'ISO'; SET LOCAL TimeZone = 'UTC'; SET LOCAL lock_timeout = '10s'; SET LOCAL idle_in_transaction_session_timeout = '15min';
  SET LOCAL tcp_keepalives_idle = 30; SET LOCAL tcp_keepalives_interval = 10; SET LOCAL tcp_keepalives_count = 3`

/** Runs `work` in a transaction that excludes other publications to the target. @throws TARGET_LOCKED */
const exclusively = <T>(
  postgres: Postgres,
  target: PostgresTarget,
  work: (state: StoredState) => Promise<T>,
): Promise<T> =>
  transaction(postgres, async () => {
    await postgres.execute(SETTINGS)
    const key = quoteText(`convohouse ${target.schema}`)
    const [lock] = await postgres.query<{ taken: boolean }>(`SELECT ${lockSql(key)} AS taken`)
    if (!lock!.taken) throw lockedTarget(placeOf(target))
    return work(await storedState(postgres, target))
  })

/** Returns statements that create missing schemas and tables. */
function missing(target: PostgresTarget, state: StoredState, tables: readonly PackagedTable[]): string[] {
  const created = tables.filter(({ name }) => !state.tables.has(name))
  const wanted = [target.schema, martsSchema(target.schema), ...tables.map(({ name }) => placeIn(target, name).schema)]
  const schemas = [...new Set(wanted)].filter(name => !state.schemas.has(name))
  return [
    ...schemas.map(name => `CREATE SCHEMA ${quoteName(name)}`),
    ...(state.tables.has(WATERMARK_TABLE) ? [] : bookkeepingTables(target)),
    // A schema of an earlier version lacks the column.
    ...(state.tables.get(WATERMARK_TABLE)?.has('backfill_unfinished') === false
      ? [`ALTER TABLE ${quotedPlace(target, WATERMARK_TABLE)} ADD COLUMN backfill_unfinished boolean`]
      : []),
    ...created.map(table => createTable(target, table)),
    ...created.map(
      ({ name }) =>
        `INSERT INTO ${quotedPlace(target, TABLES_TABLE)} VALUES (${quoteText(name)}) ON CONFLICT DO NOTHING`,
    ),
  ]
}

/** A package whose tables have all arrived, so that no transaction of PostgreSQL waits for the warehouse. */
interface CompletePackage extends PackageHead {
  tables: readonly PackagedTable[]
}

async function arrived(tables: Package['tables']): Promise<PackagedTable[]> {
  const all: PackagedTable[] = []
  for await (const table of tables) all.push(table)
  return all
}

const storeWatermark = (
  target: PostgresTarget,
  { owner, epoch, seq, publicationId, policy, asOf, isBackfillUnfinished = null }: TargetWatermark,
): string => {
  const place = quotedPlace(target, WATERMARK_TABLE)
  const values = [
    quoteText(owner),
    quoteText(epoch),
    seq,
    ...[publicationId, policy, asOf].map(quoteText),
    isBackfillUnfinished,
  ]
  return `DELETE FROM ${place};
    INSERT INTO ${place} (owner, epoch, seq, publication_id, policy, as_of, backfill_unfinished)
    VALUES (${values.map(String).join(', ')})`
}

/**
 * Adds columns in a separate transaction, which locks out readers only for an instant, not for the whole publication. A
 * new column without values changes no row.
 */
async function addColumns(
  postgres: Postgres,
  target: PostgresTarget,
  { base, tables }: CompletePackage,
): Promise<void> {
  await exclusively(postgres, target, async state => {
    expectBase(placeOf(target), state.watermark, base)
    expectOwn(
      target,
      state,
      tables.map(({ name }) => name),
    )
    const statements = tables.flatMap(table => addedColumns(target, table, state))
    if (statements.length > 0) await postgres.execute(statements.join(';\n'))
  })
}

async function writeRows(postgres: Postgres, target: PostgresTarget, contents: CompletePackage): Promise<void> {
  const { kind, base, tables, watermark } = contents
  await exclusively(postgres, target, async state => {
    expectBase(placeOf(target), state.watermark, base)
    const { execute, database } = postgres
    const names = tables.map(({ name }) => name)
    expectOwn(target, state, names)
    if (kind === 'delta') for (const table of tables) expectColumns(target, table, state)
    // All tables must exist before DuckDB reads the catalog, which it does once.
    const ddl = missing(target, state, tables)
    const replacements = replacementsOf(tables)
    const created = [...ddl, ...temporaryTables(replacements.values())]
    if (created.length > 0) await execute(created.join(';\n'))
    await fillKeys(postgres, replacements.values())
    const retired = kind === 'refill' ? [...state.own].filter(name => !names.includes(name)) : []
    for (const name of retired) await execute(`DELETE FROM ${quotedPlace(target, name)}`)
    for (const table of tables) {
      const place = quotedPlace(target, table.name)
      const replacement = replacements.get(table.name)
      if (replacement) await replaceRows(postgres, place, replacement)
      else {
        if (table.isWhole) await execute(`DELETE FROM ${place}`)
        await insertRows(database, `${ATTACHED}.${place}`, table)
      }
      if (!state.tables.has(table.name)) await execute(indexesOf(target, table).join(';\n'))
      if (kind === 'refill') await execute(commentsOf(target, table).join(';\n'))
    }
    if (kind === 'refill' && names.includes(SEARCHED.table)) {
      const searched = { schema: placeIn(target, SEARCHED.table).schema, table: quotedPlace(target, SEARCHED.table) }
      await execute(postgresIndex(searched, target.search ?? null).join(';\n'))
    }
    // Until autovacuum runs, PostgreSQL would plan queries without statistics.
    if (kind === 'refill') await execute(`ANALYZE ${names.map(name => quotedPlace(target, name)).join(', ')}`)
    await execute(storeWatermark(target, watermark))
  })
}

/** Requires the extension `postgres_scanner`. */
export function openPostgres(database: TargetDatabase, target: PostgresTarget): OpenTarget {
  return {
    watermark: () =>
      connected(database, target, postgres => exclusively(postgres, target, async ({ watermark }) => watermark)),
    async apply({ tables, ...head }) {
      const contents: CompletePackage = { ...head, tables: await arrived(tables) }
      await connected(database, target, async postgres => {
        if (contents.kind === 'refill') await addColumns(postgres, target, contents)
        await writeRows(postgres, target, contents)
      })
    },
    sums: tables =>
      connected(database, target, postgres =>
        transaction(postgres, async () => {
          await postgres.execute(SETTINGS)
          return sumsOf(database, tables, {
            rowsFrom: ({ name }) => `${ATTACHED}.${quotedPlace(target, name)}`,
            stored: storedValue,
          })
        }),
      ),
  }
}

/**
 * Tests what a publication does, and rolls it back: creates schemas and tables, comments on its own, writes.
 * @returns its findings, for people: `PostgreSQL 18.1 as loader, TLSv1.3`
 * @throws TARGET_UNUSABLE, TARGET_LOCKED, SECRET_MISSING
 */
export const probePostgres = (database: TargetDatabase, target: PostgresTarget): Promise<string> =>
  connected(database, target, async postgres => {
    const { execute, query } = postgres
    await database.run('BEGIN')
    try {
      const state = await storedState(postgres, target)
      const wanted = [target.schema, martsSchema(target.schema)]
      const tried = wanted.flatMap(name => [
        ...(state.schemas.has(name) ? [] : [`CREATE SCHEMA ${quoteName(name)}`]),
        `CREATE TABLE ${quoteName(name)}._publication_probe ()`,
      ])
      const own = [...state.own].filter(name => state.tables.has(name)).map(name => quotedPlace(target, name))
      const owned = own.map(place => `COMMENT ON TABLE ${place} IS NULL`)
      await execute([...tried, ...owned, 'CREATE TEMP TABLE _publication_probe ()'].join(';\n'))
      const [server] = await query<{ version: string; tls: string | null }>(`
        SELECT split_part(current_setting('server_version'), ' ', 1) AS version,
          (SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl) AS tls`)
      return `PostgreSQL ${server!.version} as ${target.connection.user}, ${server!.tls ?? 'without TLS'}`
    } finally {
      await database.run('ROLLBACK').catch(() => {})
    }
  })
