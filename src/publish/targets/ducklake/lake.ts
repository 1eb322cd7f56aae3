// Connects to a lake: DuckDB's extension `ducklake` attaches its catalog, a schema in PostgreSQL. An advisory lock in
// the transaction keeps out other publications.

import { existsSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { quoteName, quoteText } from '../../../catalog/layout.ts'
import type { S3Place } from '../../../config/s3.ts'
import type { LakeTarget } from '../../../config/targets/ducklake.ts'
import { placeOf } from '../../../config/targets.ts'
import { diskErrorCode, diskErrorText } from '../../../core/disk.ts'
import { ConvohouseError, isCode } from '../../../core/errors.ts'
import { MINUTE } from '../../../core/time.ts'
import { makeFolder, syncFile, syncFolder } from '../../../files/durable.ts'
import { severally } from '../../../files/severally.ts'
import { messageOf } from '../../../warehouse/fault.ts'
import { ATTACHED } from '../../attached.ts'
import { loadExtension, lockedTarget, type TargetDatabase, transaction } from '../../target-database.ts'
import type { ExtensionPlaces } from '../../target-port.ts'
import { changedByOwner, changedTarget } from '../../watermark.ts'
import { connectionText, lockSql, postgresError, usingPassword } from '../postgres/connection.ts'

export interface LakeData {
  /** Lets DuckDB write to this place. Called for each connection. @throws SECRET_MISSING if credentials cannot be read */
  prepare(database: TargetDatabase): Promise<void>
  /** True if the folder is not empty. */
  has(folder: string): Promise<boolean>
  /** Syncs files written since `sinceMs`: after a power failure, the catalog must not name files that were never written. */
  sync(sinceMs: number): Promise<void>
  /** Removes files, given by their names relative to the place. */
  remove(names: readonly string[]): Promise<void>
  /** Returns the error of the place; null for other causes. */
  errorOf(cause: unknown): ConvohouseError | null
  close(): void
}

/** Syncs the files below `folder` that were written since, and the folders that contain them. */
async function syncFiles(folder: string, sinceMs: number): Promise<void> {
  const folders = new Set<string>()
  const files = (await readdir(folder, { recursive: true })).filter(name => name.endsWith('.parquet'))
  await severally(files, async name => {
    const path = join(folder, name)
    if ((await stat(path)).mtimeMs < sinceMs) return
    await syncFile(path, 'r')
    for (let above = dirname(name); above !== '.'; above = dirname(above)) folders.add(join(folder, above))
    folders.add(folder)
  })
  await severally(folders, syncFolder)
}

/** `data` is absolute. */
const dataFolder = (data: string): LakeData => ({
  async prepare() {
    await makeFolder(data)
    // Other users may read the files if the owner has opened the folder to them; a new folder is private.
    process.umask(0o777 & ~(await stat(data)).mode)
  },
  has: async folder => existsSync(join(data, folder)),
  sync: sinceMs => syncFiles(data, sinceMs),
  async remove(names) {
    for (const name of names) await rm(join(data, name), { force: true })
  },
  errorOf: () => null,
  close() {},
})

/** True for an error of DuckDB's extension `httpfs`. Its first line states the failure; `doctor` asks the server for the reason. */
const isOfHttpfs = (cause: unknown): boolean =>
  /\bHTTP Error: |for HTTP [A-Z]+ to '|Failed to remove files: /.test(messageOf(cause))

/** Returns a lake's data in S3. An object is durable once the server has confirmed it. @throws SECRET_MISSING */
async function dataObjects(place: S3Place): Promise<LakeData> {
  // AWS's SDK takes longer to load than everything else, and few lakes need it.
  const { connectS3, isOfSdk, openS3InDuckdb, s3Error } = await import('../../s3/client.ts')
  const { objectsIn } = await import('../../s3/objects.ts')
  const connection = connectS3(place)
  const objects = objectsIn(connection)
  return {
    prepare: database => openS3InDuckdb(database, connection),
    has: folder => objects.hasAny(`${folder}/`),
    sync: async () => {},
    remove: names => objects.remove(names),
    errorOf: cause => (isOfSdk(cause) || isOfHttpfs(cause) ? s3Error(connection, cause) : null),
    close: () => connection.client.destroy(),
  }
}

/** @throws SECRET_MISSING if a file cannot be read */
const lakeData = async ({ s3, data }: LakeTarget): Promise<LakeData> =>
  s3 === null ? dataFolder(data) : dataObjects(s3)

/** Name of the attached PostgreSQL server, for the lock within the transaction that writes the lake. */
const SERVER = 'catalog_server'

export interface Lake {
  database: TargetDatabase
  target: LakeTarget
  data: LakeData
  /** Returns the SQL of a table of the catalog. */
  catalogTable: (name: string) => string
}

/** The schemas of a lake, which are also folders of its data. */
export const SCHEMAS = ['main', 'marts', 'models']

/** @throws EXTENSION_UNAVAILABLE */
export async function loadExtensions(
  database: TargetDatabase,
  { s3 }: LakeTarget,
  extensions: ExtensionPlaces,
): Promise<void> {
  for (const name of ['postgres_scanner', 'ducklake', ...(s3 === null ? [] : ['httpfs'])])
    await loadExtension(database, name, extensions)
}

/**
 * Returns the ATTACH statement. The catalog never stores rows inline (`DATA_INLINING_ROW_LIMIT`), so every engine finds
 * all rows in files. The text does not contain the password.
 */
function attachText({ catalog, data }: LakeTarget): string {
  const options = [
    ...[`DATA_PATH ${quoteText(`${data}/`)}`, 'DATA_INLINING_ROW_LIMIT 0'],
    `METADATA_SCHEMA ${quoteText(catalog.schema)}`,
  ]
  return `ATTACH ${quoteText(`ducklake:postgres:${connectionText(catalog)}`)} AS ${ATTACHED} (${options.join(', ')})`
}

async function hasCatalog({ rows }: TargetDatabase, { catalog: { schema } }: LakeTarget): Promise<boolean> {
  const sql = `SELECT pg_catalog.to_regclass(${quoteText(`${schema}.ducklake_metadata`)}) IS NOT NULL AS found`
  const [row] = await rows<{ found: boolean }>(`FROM postgres_query('${SERVER}', ${quoteText(sql)})`)
  return row!.found
}

/** Refuses data of another lake, which a new lake would take for leftovers of killed publications. @throws TARGET_UNUSABLE */
async function expectNoData({ data: place }: LakeTarget, data: LakeData): Promise<void> {
  for (const schema of SCHEMAS)
    if (await data.has(schema))
      throw new ConvohouseError('TARGET_UNUSABLE', {
        what: `${place}/${schema} has the data of another lake, whose catalog is elsewhere.`,
        hint: 'Give the target another place for `data`, or the catalog of that lake. If that is gone for good, remove the data.',
      })
}

const CONFLICT = /Transaction conflict|conflicting changes|could not serialize access/

/** Matches DuckDB's messages about a data file that is gone or has not the size that the catalog records. */
const CHANGED_FILE =
  /Parquet file|footer length|No magic bytes|Could not read enough bytes|Cannot open file|No such file|\(HTTP 404/

const DISK_HINT =
  'Free disk space, or make the folder of the data writable. The lake is as it was before; the next publication tries again.'

/** Matches quoted paths and statements in DuckDB's messages. */
const QUOTED = /"[^"]*"|'[^']*'/g

/** Matches messages of PostgreSQL and libpq. */
const OF_SERVER = /(FATAL|ERROR): {2}|connection to server|server closed the connection|Postgres/

/** Returns the error of a lake with DuckDB's first line; later lines may quote a statement. The caller removes the password. */
export function lakeError(target: LakeTarget, cause: unknown): ConvohouseError {
  if (isCode(cause, 'HOME_UNUSABLE'))
    return new ConvohouseError('TARGET_UNUSABLE', { what: cause.message, hint: DISK_HINT, cause })
  if (cause instanceof ConvohouseError) return cause
  const text = messageOf(cause)
  if (CONFLICT.test(text)) return changedTarget(placeOf(target))
  if (text.includes('does not match existing data path'))
    return new ConvohouseError('TARGET_UNUSABLE', {
      what: `The lake of ${placeOf(target)} keeps its data elsewhere than in ${target.data}.`,
      hint: 'Set `data` as it was when the lake was created, or give the target another catalog: the next publication fills a new lake.',
      cause,
    })
  if (OF_SERVER.test(text)) return postgresError({ ...target.catalog, name: target.name }, { cause, password: null })
  if (CHANGED_FILE.test(text))
    return changedByOwner(`A data file of the lake ${placeOf(target)} is gone or damaged.`, target.name)
  const reason = diskErrorCode(cause) === null ? text.split('\n')[0]!.replace(QUOTED, '…') : diskErrorText(cause)
  return new ConvohouseError('TARGET_UNUSABLE', {
    what: `Cannot use the lake ${placeOf(target)}: ${reason}`,
    hint: DISK_HINT,
    cause,
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
  const exists = await hasCatalog(database, target)
  if (!exists && !creates) return null
  if (!exists) await expectNoData(target, data)
  await data.prepare(database)
  await database.run(attachText(target))
  const catalogTable = (name: string) => `__ducklake_metadata_${ATTACHED}.${quoteName(target.catalog.schema)}.${name}`
  try {
    return await work({ database, target, data, catalogTable })
  } finally {
    await database.run(`DETACH ${ATTACHED}`).catch(() => {})
  }
}

/**
 * Attaches the lake, runs `work` and detaches it. @returns null if there is no lake and `creates` is false
 * @throws TARGET_UNUSABLE, TARGET_LOCKED, TARGET_CHANGED, SECRET_MISSING
 */
export async function connectedLake<T>(
  database: TargetDatabase,
  { target, creates }: Connecting,
  work: (lake: Lake) => Promise<T>,
): Promise<T | null> {
  const { catalog } = target
  const data = await lakeData(target)
  try {
    return await usingPassword({ ...catalog, name: target.name }, async () => {
      try {
        await database.run(`ATTACH ${quoteText(connectionText(catalog))} AS ${SERVER} (TYPE postgres)`)
        return await attachedLake(database, { target, creates, data }, work)
      } catch (cause) {
        throw data.errorOf(cause) ?? lakeError(target, cause)
      } finally {
        await database.run(`DETACH ${SERVER}`).catch(() => {})
      }
    })
  } finally {
    data.close()
  }
}

/** The role's own limits may be too short for a publication. */
const SETTINGS = { idle_in_transaction_session_timeout: 15 * MINUTE, statement_timeout: 0 }

/** @throws TARGET_LOCKED */
async function lock({ database: { rows }, target }: Lake): Promise<void> {
  const key = quoteText(`convohouse lake ${target.catalog.schema}`)
  const settings = Object.entries(SETTINGS).map(
    ([name, ms]) => `pg_catalog.set_config('${name}', '${ms}', true) AS ${name}`,
  )
  const sql = `SELECT ${lockSql(key)} AS taken, ${settings.join(', ')}`
  const [row] = await rows<{ taken: boolean }>(`FROM postgres_query('${SERVER}', ${quoteText(sql)})`)
  if (!row!.taken) throw lockedTarget(placeOf(target))
}

/** Author of every version that convohouse makes. */
const AUTHOR = 'convohouse'

/** Refuses a lake with a version of another author, since convohouse owns its tables. @throws TARGET_UNUSABLE */
async function expectOwn({ database, target, catalogTable }: Lake): Promise<void> {
  const { catalog, data } = target
  // DuckLake itself makes version 0, which has no tables.
  const [version] = await database.rows<{ id: string }>(`
    SELECT snapshot_id::VARCHAR AS id FROM ${catalogTable('ducklake_snapshot_changes')}
    WHERE snapshot_id > 0 AND author IS DISTINCT FROM ${quoteText(AUTHOR)} ORDER BY snapshot_id LIMIT 1`)
  if (version === undefined) return
  throw new ConvohouseError('TARGET_UNUSABLE', {
    what: `${placeOf(target)}: version ${version.id} was made by something else, so the lake is not touched.`,
    hint: `Give the target a lake of its own. If this one is convohouse's, drop the schema ${catalog.schema} and remove ${data}: the next publication fills a new lake.`,
  })
}

/**
 * Runs `work` in a transaction that excludes other publications to the lake.
 * @throws TARGET_LOCKED; TARGET_UNUSABLE if another program has written the lake
 */
export const exclusively = <T>(lake: Lake, work: () => Promise<T>): Promise<T> =>
  transaction(lake, async () => {
    await lock(lake)
    await expectOwn(lake)
    return work()
  })

/** Sets the message of the version that the transaction makes. `facts`: JSON for readers of `lake.snapshots()`. */
export const describeVersion = ({ database }: Lake, message: string, facts: object = {}): Promise<void> =>
  database.run(
    `CALL ducklake_set_commit_message('${ATTACHED}', '${AUTHOR}', ${quoteText(message)}, extra_info => ${quoteText(JSON.stringify(facts))})`,
  )
