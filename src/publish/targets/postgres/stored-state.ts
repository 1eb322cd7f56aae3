// Reads the contents of a target's schemas: tables with their column types, tables that publications created, the watermark.
import { quoteName, quoteText } from '../../../catalog/layout.ts'
import { martsSchema, modelsSchema, type PostgresTarget } from '../../../config/targets/postgres.ts'
import { placeOf } from '../../../config/targets.ts'
import { ConvohouseError } from '../../../core/errors.ts'
import { type TargetWatermark, WATERMARK_TABLE } from '../../watermark.ts'
import type { Postgres } from './connection.ts'

/** Table of the names of the tables that publications have created. No other table is ever changed. */
export const TABLES_TABLE = '_publication_tables'

export interface StoredState {
  /** The schemas that exist. */
  schemas: ReadonlySet<string>
  /** Tables and views of these schemas by name in the target, with the types of their columns. */
  tables: ReadonlyMap<string, ReadonlyMap<string, string>>
  /** Names of the tables that publications have created. */
  own: ReadonlySet<string>
  /** Null if the target must be filled. */
  watermark: TargetWatermark | null
}

/** Returns the schemas of a target, by the warehouse's schema. */
const schemasOf = (schema: string): Record<string, string> => ({
  main: schema,
  marts: martsSchema(schema),
  models: modelsSchema(schema),
})

const listOf = ({ schema }: Pick<PostgresTarget, 'schema'>): string =>
  Object.values(schemasOf(schema)).map(quoteText).join(', ')

/** Returns the schema and the name of a table; marts and models have separate schemas. */
export function placeIn({ schema }: Pick<PostgresTarget, 'schema'>, table: string): { schema: string; name: string } {
  const [first, second] = table.split('.')
  return second === undefined ? { schema, name: first! } : { schema: schemasOf(schema)[first!]!, name: second }
}

export const quotedPlace = (target: Pick<PostgresTarget, 'schema'>, table: string): string => {
  const { schema, name } = placeIn(target, table)
  return `${quoteName(schema)}.${quoteName(name)}`
}

async function schemasIn({ query }: Postgres, target: PostgresTarget): Promise<Set<string>> {
  const rows = await query<{ name: string }>(
    `SELECT nspname::text AS name FROM pg_namespace WHERE nspname IN (${listOf(target)})`,
  )
  return new Set(rows.map(({ name }) => name))
}

/** Lists tables, views and foreign tables, because all of them occupy a name. */
async function tablesIn({ query }: Postgres, target: PostgresTarget): Promise<Map<string, Map<string, string>>> {
  const rows = await query<{ table: string; column: string | null; type: string | null }>(`
    SELECT CASE n.nspname WHEN ${quoteText(target.schema)} THEN '' WHEN ${quoteText(modelsSchema(target.schema))} THEN 'models.' ELSE 'marts.' END || c.relname AS "table",
      a.attname::text AS "column", format_type(a.atttypid, a.atttypmod) AS type
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE n.nspname IN (${listOf(target)}) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')`)
  const tables = new Map<string, Map<string, string>>()
  for (const { table, column, type } of rows) {
    const columns = tables.get(table) ?? new Map<string, string>()
    if (column !== null) columns.set(column, type!)
    tables.set(table, columns)
  }
  return tables
}

async function ownTables({ query }: Postgres, target: PostgresTarget): Promise<Set<string>> {
  const rows = await query<{ name: string }>(`SELECT name FROM ${quotedPlace(target, TABLES_TABLE)}`)
  return new Set(rows.map(({ name }) => name))
}

async function storedWatermark({ query }: Postgres, target: PostgresTarget): Promise<TargetWatermark | null> {
  const [row] = await query<TargetWatermark & { seq: string }>(`
    SELECT owner, epoch, seq::text AS seq, publication_id AS "publicationId", policy,
      to_char(as_of AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "asOf"
    FROM ${quotedPlace(target, WATERMARK_TABLE)}`)
  return row ? { ...row, seq: Number(row.seq) } : null
}

/** The error of marts or models whose list of published tables somebody has dropped with the target's own schema. */
const orphaned = (target: PostgresTarget, name: string): ConvohouseError =>
  new ConvohouseError('TARGET_UNUSABLE', {
    what: `${placeOf(target)}: ${name} is there, but the list of published tables in the schema ${target.schema} is gone.`,
    hint: `If publications wrote it, run \`DROP SCHEMA ${quoteName(name.split('.')[0]!)} CASCADE\`, and the next one writes it again. Else give the target another schema.`,
  })

const foreign = (target: PostgresTarget, name: string): ConvohouseError =>
  new ConvohouseError('TARGET_UNUSABLE', {
    what: `${placeOf(target)}: ${name} was not written by a publication, so it is not touched.`,
    hint: 'Give the target a schema of its own (`schema`): an empty one, or one that does not exist.',
  })

/** @throws TARGET_UNUSABLE if the schemas contain tables and no publication has created any */
export async function storedState(postgres: Postgres, target: PostgresTarget): Promise<StoredState> {
  const schemas = await schemasIn(postgres, target)
  const tables = await tablesIn(postgres, target)
  if (!tables.has(WATERMARK_TABLE) || !tables.has(TABLES_TABLE)) {
    const [first] = tables.keys()
    if (first !== undefined) throw (first.includes('.') ? orphaned : foreign)(target, tableText(target, first))
    return { schemas, tables, own: new Set(), watermark: null }
  }
  const own = await ownTables(postgres, target)
  // If somebody has dropped a table, a refill creates it again.
  const isWhole = [...own].every(name => tables.has(name))
  return { schemas, tables, own, watermark: isWhole ? await storedWatermark(postgres, target) : null }
}

/** Returns a name such as `convohouse_marts.dim_agents`. */
export function tableText(target: Pick<PostgresTarget, 'schema'>, table: string): string {
  const { schema, name } = placeIn(target, table)
  return `${schema}.${name}`
}

/** @throws TARGET_UNUSABLE if the package would write a table that no publication has created */
export function expectOwn(target: PostgresTarget, { tables, own }: StoredState, names: readonly string[]): void {
  const taken = names.find(name => tables.has(name) && !own.has(name))
  if (taken !== undefined) throw foreign(target, tableText(target, taken))
}
