// The target `snapshot`: one DuckDB file. A package is applied to a copy, which then takes the place of the published file by `rename`: readers
// of the old file are not disturbed, and a reader that opens it later reads the new one. A refill begins with an empty file, because values that were
// deleted survive in the free blocks of a copy.
import { randomUUID } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { chmod, copyFile, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { conversation } from '../catalog/conversation/conversation.ts'
import { quoteName, quoteText } from '../catalog/layout.ts'
import type { SnapshotTarget } from '../config/targets.ts'
import { ConvohouseError } from '../core/errors.ts'
import { namesIn, syncFile, syncFolder } from '../files/durable.ts'
import { ATTACHED, attachedTable, createTable, deleteRows, insertRows, sumsOf } from './attached.ts'
import type { Package, PackagedTable } from './package.ts'
import { quotedTable } from './package-rows.ts'
import { indexSnapshot, SEARCHED } from './search.ts'
import { lockTarget, type TargetDatabase, targetError, transaction } from './target-database.ts'
import type { OpenTarget } from './target-port.ts'
import { isSame, readStoredWatermark, storeWatermark, type TargetWatermark, WATERMARK_TABLE } from './watermark.ts'

/** DuckDB 1.1 and all later versions read the first version; it refuses the second, which has zstd for long texts. */
const STORAGE_VERSION = { plain: 'v1.0.0', compressed: 'v1.2.0' }

/** As in the warehouse: with larger row groups of wide rows, a refill needs more than the memory limit. */
const ROW_GROUP_ROWS = 30_720

/** FSST makes the file an eighth smaller, and takes a sixth of the time of writing it. */
const COMPRESSION = [`SET disabled_compression_methods = 'fsst,dict_fsst'`, 'SET zstd_min_string_length = 64']

/** In the names of this process's files, so that no file of anybody else has such a name. */
const RUN = randomUUID()

const nextFile = (path: string): string => `${path}.${RUN}.next`

/** How the names of next files and their logs end, also those of killed publications. */
const NEXT_ENDING = /^\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.next(\.wal)?$/

const HINT = 'Move the file away: the next publication writes a new one.'

const DISK_HINT =
  'Free disk space or make the folder of the target writable. The published file is as it was before; the next publication tries again.'

const foreign = (path: string): ConvohouseError =>
  new ConvohouseError('TARGET_UNUSABLE', {
    what: `${path} was not written by a publication, so it is not overwritten.`,
    hint: 'Move it away, or give the target another path.',
  })

async function attached<T>(
  database: TargetDatabase,
  { file, as, options }: { file: string; as: string; options: string },
  work: () => Promise<T>,
): Promise<T> {
  await database.run(`ATTACH ${quoteText(file)} AS ${as} (${options})`)
  try {
    return await work()
  } finally {
    // After a failed checkpoint this fails too; the first error is the one to report.
    await database.run(`DETACH ${as}`).catch(() => {})
  }
}

const readingPublished = <T>(database: TargetDatabase, path: string, work: () => Promise<T>): Promise<T> =>
  attached(database, { file: path, as: 'published', options: 'READ_ONLY' }, work)

/** The log of a program that opened the file for writing and was killed. DuckDB applies it to whatever file has the name. */
const logFile = (path: string): string => `${path}.wal`

/** Opened read-only, the file is locked against writers. */
async function readStored(database: TargetDatabase, path: string): Promise<TargetWatermark | null> {
  const [table] = await database.rows(`SELECT 1 FROM duckdb_tables()
    WHERE database_name = 'published' AND schema_name = 'main' AND table_name = '${WATERMARK_TABLE}'`)
  if (!table) throw foreign(path)
  // The next file would not be what the log was written for, and no reader could open it.
  await rm(logFile(path), { force: true })
  return readStoredWatermark(database, `published.main.${WATERMARK_TABLE}`)
}

/** @throws TARGET_LOCKED, TARGET_UNUSABLE */
async function readWatermark(database: TargetDatabase, path: string): Promise<TargetWatermark | null> {
  const log = logFile(path)
  const hasLog = existsSync(log)
  if (!existsSync(path)) {
    if (hasLog) throw foreign(log)
    return null
  }
  try {
    const stored = await readingPublished(database, path, () => readStored(database, path))
    // With the log, it was not the state of the file.
    return hasLog ? await readingPublished(database, path, () => readStored(database, path)) : stored
  } catch (cause) {
    throw targetError(path, cause, hasLog ? `Remove ${log}: a program that opened the file for writing left it.` : HINT)
  }
}

const inSchema = (name: string): string => (name.includes('.') ? quotedTable(name) : `main.${quoteName(name)}`)

type Snapshot = Pick<SnapshotTarget, 'path' | 'search' | 'compress'>

/**
 * Writes data and watermark, and all of it into the file: no log is left beside it. Conversations, which take as long as all other tables, are
 * written beside them on a connection of their own: with one thread a connection, DuckDB spills none of their rows.
 */
async function writeNext(
  database: TargetDatabase,
  { path, search, compress }: Snapshot,
  { kind, tables, watermark }: Package,
): Promise<void> {
  const write = async (on: TargetDatabase, table: PackagedTable) => {
    if (kind === 'refill') await createTable(on, table)
    await deleteRows(on, attachedTable(table), table)
    await insertRows(on, attachedTable(table), table)
    // The index does not follow its table.
    if (search !== undefined && table.name === SEARCHED.table) await indexSnapshot(on, ATTACHED, search)
  }
  const version = compress ? STORAGE_VERSION.compressed : STORAGE_VERSION.plain
  const options = `ROW_GROUP_SIZE ${ROW_GROUP_ROWS}, STORAGE_VERSION '${version}'`
  for (const statement of COMPRESSION) await database.run(statement)
  await attached(database, { file: nextFile(path), as: ATTACHED, options }, async () => {
    for (const schema of ['marts', 'models']) await database.run(`CREATE SCHEMA IF NOT EXISTS target.${schema}`)
    const beside = await database.connect()
    let conversations: Promise<void> = Promise.resolve()
    try {
      await transaction({ database }, async () => {
        for await (const table of tables)
          if (table.name === conversation.table) {
            conversations = transaction({ database: beside }, () => write(beside, table))
            // It is reported when it is awaited.
            conversations.catch(() => {})
          } else await write(database, table)
        await conversations
        for (const statement of storeWatermark(watermark)) await database.run(statement)
      })
    } finally {
      // The file cannot be detached before.
      await conversations.catch(() => {})
    }
    await database.run('CHECKPOINT target')
  })
}

/** Published files keep their mode, so that an owner can open them to other users once and for all; a new one is private. */
async function keepMode(path: string): Promise<void> {
  const published = await stat(path).catch(() => null)
  if (published) await chmod(nextFile(path), published.mode & 0o777)
}

/** Requires the target's lock. */
async function removeNext(path: string): Promise<void> {
  const [folder, name] = [dirname(path), basename(path)]
  for (const file of await namesIn(folder))
    if (file.startsWith(name) && NEXT_ENDING.test(file.slice(name.length)))
      await rm(join(folder, file), { force: true })
}

/** @throws TARGET_CHANGED */
async function expectBase(database: TargetDatabase, path: string, base: TargetWatermark | null): Promise<void> {
  if (isSame(await readWatermark(database, path), base)) return
  throw new ConvohouseError('TARGET_CHANGED', {
    what: `${path} was replaced while a publication to it was being written. The publication was discarded.`,
    hint: 'Nothing to do: the next publication starts from the present file.',
  })
}

async function applyPackage(database: TargetDatabase, snapshot: Snapshot, contents: Package): Promise<void> {
  const { path } = snapshot
  await expectBase(database, path, contents.base)
  // A file system that can share blocks copies in an instant.
  if (contents.kind === 'delta') await copyFile(path, nextFile(path), constants.COPYFILE_FICLONE)
  await writeNext(database, snapshot, contents)
  await keepMode(path)
  await syncFile(nextFile(path))
  await expectBase(database, path, contents.base)
  await rename(nextFile(path), path)
  await syncFolder(dirname(path))
}

/** Locks the target's file. For `search`, the extension `fts` must be loaded. @throws TARGET_LOCKED, TARGET_UNUSABLE */
export async function openSnapshot(database: TargetDatabase, snapshot: Snapshot): Promise<OpenTarget> {
  const { path } = snapshot
  await lockTarget(database, path)
  await removeNext(path).catch(cause => {
    throw targetError(path, cause, DISK_HINT)
  })
  return {
    watermark: () => readWatermark(database, path),
    async apply(contents) {
      try {
        await applyPackage(database, snapshot, contents)
      } catch (cause) {
        await removeNext(path).catch(() => {})
        throw targetError(path, cause, DISK_HINT)
      }
    },
    sums: tables =>
      readingPublished(database, path, () =>
        sumsOf(database, tables, {
          rowsFrom: ({ name }) => `published.${inSchema(name)}`,
          stored: ({ name }) => quoteName(name),
        }),
      ),
  }
}
