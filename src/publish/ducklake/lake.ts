// The connection to a lake: DuckDB's extension `ducklake` attaches its catalog. What is written is locked against other publications: a catalog
// in a file by a file beside it, one in PostgreSQL by an advisory lock of the transaction.
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { quoteName, quoteText } from '../../catalog/layout.ts'
import { catalogText, type LakeCatalog } from '../../config/lake-target.ts'
import type { PostgresPlace } from '../../config/postgres-server.ts'
import type { LakeTarget } from '../../config/targets.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { MINUTE, SECOND } from '../../core/time.ts'
import { destinationOf } from '../../files/destination.ts'
import { makeFolder } from '../../files/durable.ts'
import { ATTACHED } from '../attached.ts'
import { loadExtension } from '../extension.ts'
import { connectionText, lockSql, usingPassword } from '../postgres/connection.ts'
import { attachWaiting, type TargetDatabase, transaction } from '../target-database.ts'
import type { ExtensionPlaces } from '../target-port.ts'
import { dataFolder, type LakeData } from './data-folder.ts'
import { isHeld, lakeError } from './lake-error.ts'

/** Extensions by the type of the catalog. */
const EXTENSIONS: Record<LakeCatalog['type'], readonly string[]> = {
  postgres: ['postgres_scanner', 'ducklake'],
  sqlite: ['sqlite_scanner', 'ducklake'],
  duckdb: ['ducklake'],
}

/** PostgreSQL itself, for the lock, within the transaction that writes the lake. */
const SERVER = 'catalog_server'

/** A reader that has opened a DuckDB file is waited for. */
const DUCKDB_WAIT_MS = 10 * SECOND

/**
 * A commit waits for the queries that read a catalog in SQLite, and no other begins meanwhile: for less time than such a reader waits by default
 * (5 s), who would fail.
 */
export const SQLITE_WAIT_MS = 4 * SECOND

export interface Lake {
  database: TargetDatabase
  target: LakeTarget
  data: LakeData
  /** SQL of a table of the catalog. */
  catalogTable: (name: string) => string
}

/**
 * The target with the place to which symbolic links of its catalog lead: two targets with different links to one lake have one lock, and an owner's
 * link is not replaced. @throws TARGET_UNUSABLE
 */
export async function atDestination(target: LakeTarget): Promise<LakeTarget> {
  const { catalog } = target
  if (catalog.type === 'postgres') return target
  const path = await destinationOf(catalog.path).catch(cause => {
    throw lakeError(target, cause)
  })
  return { ...target, catalog: { ...catalog, path } }
}

/** @throws EXTENSION_UNAVAILABLE */
export async function loadExtensions(
  database: TargetDatabase,
  { catalog, s3 }: LakeTarget,
  extensions: ExtensionPlaces,
): Promise<void> {
  for (const name of [...EXTENSIONS[catalog.type], ...(s3 === null ? [] : ['httpfs'])])
    await loadExtension(database, name, extensions)
}

/** What DuckLake attaches. A password is in none of it. */
const catalogAddress = (catalog: LakeCatalog): string => {
  if (catalog.type === 'postgres') return `ducklake:postgres:${connectionText(catalog)}`
  return `ducklake:${catalog.type === 'sqlite' ? 'sqlite:' : ''}${catalog.path}`
}

/**
 * Rows are never stored in the catalog (`DATA_INLINING_ROW_LIMIT`): it has names, statistics and paths, and every engine that reads lakes finds
 * all rows in files.
 */
function attachText({ catalog, data }: LakeTarget): string {
  const options = [`DATA_PATH ${quoteText(`${data}/`)}`, 'DATA_INLINING_ROW_LIMIT 0']
  // With a write-ahead log, a query with several connections would read several states.
  if (catalog.type === 'sqlite') options.push(`META_BUSY_TIMEOUT ${SQLITE_WAIT_MS}`, `META_JOURNAL_MODE 'DELETE'`)
  if (catalog.type === 'postgres') options.push(`METADATA_SCHEMA ${quoteText(catalog.schema)}`)
  return `ATTACH ${quoteText(catalogAddress(catalog))} AS ${ATTACHED} (${options.join(', ')})`
}

async function hasServerCatalog({ rows }: TargetDatabase, { schema }: PostgresPlace): Promise<boolean> {
  const sql = `SELECT pg_catalog.to_regclass(${quoteText(`${schema}.ducklake_metadata`)}) IS NOT NULL AS found`
  const [row] = await rows<{ found: boolean }>(`FROM postgres_query('${SERVER}', ${quoteText(sql)})`)
  return row!.found
}

/** A new lake would take the files of another one for those of killed publications. @throws TARGET_UNUSABLE */
async function expectNoData({ data: place }: LakeTarget, data: LakeData): Promise<void> {
  for (const schema of ['main', 'marts', 'models'])
    if (await data.has(schema))
      throw new ConvohouseError('TARGET_UNUSABLE', {
        what: `${place}/${schema} has the data of another lake, whose catalog is elsewhere.`,
        hint: 'Give the target another place for `data`, or the catalog of that lake. If that is gone for good, remove the data.',
      })
}

interface Connecting {
  target: LakeTarget
  creates: boolean
}

async function attachedLake<T>(
  database: TargetDatabase,
  { target, creates, data }: Connecting & { data: LakeData },
  work: (lake: Lake) => Promise<T>,
): Promise<T | null> {
  const { catalog } = target
  const exists = catalog.type === 'postgres' ? await hasServerCatalog(database, catalog) : existsSync(catalog.path)
  if (!exists && !creates) return null
  if (!exists) await expectNoData(target, data)
  await data.prepare(database)
  if (catalog.type !== 'postgres') await makeFolder(dirname(catalog.path))
  // For readers of a catalog in a DuckDB file, which one process at a time can open.
  await attachWaiting(database, attachText(target), { waitMs: catalog.type === 'duckdb' ? DUCKDB_WAIT_MS : 0, isHeld })
  const schema = catalog.type === 'postgres' ? catalog.schema : 'main'
  const catalogTable = (name: string) => `__ducklake_metadata_${ATTACHED}.${quoteName(schema)}.${name}`
  try {
    return await work({ database, target, data, catalogTable })
  } finally {
    await database.run(`DETACH ${ATTACHED}`).catch(() => {})
  }
}

/** AWS's SDK takes longer to load than all else, and few lakes need it. */
const dataOf = async ({ s3, data }: LakeTarget): Promise<LakeData> =>
  s3 === null ? dataFolder(data) : (await import('./data-objects.ts')).dataObjects(s3)

/**
 * Attaches the lake for as long as `work` takes. @returns null if there is none, and it is not to be created
 * @throws TARGET_UNUSABLE, TARGET_LOCKED, TARGET_CHANGED, SECRET_MISSING
 */
export async function connectedLake<T>(
  database: TargetDatabase,
  { target, creates }: Connecting,
  work: (lake: Lake) => Promise<T>,
): Promise<T | null> {
  const { catalog } = target
  const data = await dataOf(target)
  const attached = () =>
    attachedLake(database, { target, creates, data }, work).catch(cause => {
      throw data.errorOf(cause) ?? lakeError(target, cause)
    })
  try {
    if (catalog.type !== 'postgres') return await attached()
    return await usingPassword({ ...catalog, name: target.name }, async () => {
      await database.run(`ATTACH ${quoteText(connectionText(catalog))} AS ${SERVER} (TYPE postgres)`)
      try {
        return await attached()
      } finally {
        await database.run(`DETACH ${SERVER}`).catch(() => {})
      }
    })
  } catch (cause) {
    throw lakeError(target, cause)
  } finally {
    data.close()
  }
}

/** The settings of a role may be too short for a publication. */
const SETTINGS = { idle_in_transaction_session_timeout: 15 * MINUTE, statement_timeout: 0 }

/** @throws TARGET_LOCKED */
async function lock({ database: { rows }, target }: Lake, { schema }: PostgresPlace): Promise<void> {
  const key = quoteText(`convohouse lake ${schema}`)
  const settings = Object.entries(SETTINGS).map(
    ([name, ms]) => `pg_catalog.set_config('${name}', '${ms}', true) AS ${name}`,
  )
  const sql = `SELECT ${lockSql(key)} AS taken, ${settings.join(', ')}`
  const [row] = await rows<{ taken: boolean }>(`FROM postgres_query('${SERVER}', ${quoteText(sql)})`)
  if (row!.taken) return
  throw new ConvohouseError('TARGET_LOCKED', {
    what: `Another publication is writing ${catalogText(target)}.`,
    hint: 'Try again when it has ended. The server may take a minute to notice that a killed one has.',
  })
}

/** Runs `work` in a transaction that no other publication to the lake runs beside. @throws TARGET_LOCKED */
export async function exclusively<T>(lake: Lake, work: () => Promise<T>): Promise<T> {
  const { catalog } = lake.target
  let doneMs = 0
  const result = await transaction(lake, async () => {
    if (catalog.type === 'postgres') await lock(lake, catalog)
    const done = await work()
    doneMs = performance.now()
    return done
  })
  // Readers who have waited for this commit look once a second: the next commit would keep them waiting for longer than they do.
  if (catalog.type === 'sqlite' && performance.now() - doneMs > SECOND / 2) await sleep(1.5 * SECOND)
  return result
}
