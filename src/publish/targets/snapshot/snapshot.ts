// The target `snapshot`: one DuckDB file. A package is applied to a copy, which then replaces the published file by
// `rename`. Readers of the old file are not disturbed, and later readers open the new one. A refill is a new file
// (`fill-snapshot.ts`), because deleted values survive in the free blocks of a copy.
import { constants, existsSync } from 'node:fs'
import { chmod, copyFile, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { quotedTable, quoteName, quoteText } from '../../../catalog/layout.ts'
import type { SnapshotTarget } from '../../../config/targets/snapshot.ts'
import { ConvohouseError } from '../../../core/errors.ts'
import { MINUTE } from '../../../core/time.ts'
import { namesIn, syncFile, syncFolder } from '../../../files/durable.ts'
import { isLocked, messageOf } from '../../../warehouse/fault.ts'
import { COMPRESSION, ROW_GROUP_ROWS } from '../../../warehouse/open.ts'
import { ATTACHED, attachedTable, deleteRows, expectColumns, insertRows, sumsOf } from '../../attached.ts'
import type { Package } from '../../package.ts'
import { indexSnapshot, SEARCHED } from '../../search.ts'
import { followed, lockTarget, type TargetDatabase, targetError, transaction } from '../../target-database.ts'
import type { OpenTarget } from '../../target-port.ts'
import {
  changedTarget,
  expectBase,
  readStoredWatermark,
  storeWatermark,
  type TargetWatermark,
  WATERMARK_TABLE,
} from '../../watermark.ts'

/** DuckDB 1.1 and later read the first version. DuckDB 1.1 refuses the second, which has zstd for long texts. */
const STORAGE_VERSION = { plain: 'v1.0.0', compressed: 'v1.2.0' }

/** Returns the path of the next file. On a refill, the warehouse process writes its rows; this process then adds index and watermark. */
export const nextFile = (path: string, publicationId: string): string => `${path}.${publicationId}.next`

/** Matches the ending of next files and their logs, including those of killed publications. */
const NEXT_ENDING = /^\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.next(\.wal)?$/

/** Returns the SQL that creates or opens the file to write. With larger row groups, wide rows would exceed the memory limit. */
export function attachNext(
  { path, compress }: Pick<SnapshotTarget, 'path' | 'compress'>,
  publicationId: string,
): string {
  const version = compress ? STORAGE_VERSION.compressed : STORAGE_VERSION.plain
  const options = `ROW_GROUP_SIZE ${ROW_GROUP_ROWS}, STORAGE_VERSION '${version}'`
  return `ATTACH ${quoteText(nextFile(path, publicationId))} AS ${ATTACHED} (${options})`
}

export const DISK_HINT =
  'Free disk space or make the folder of the target writable. The published file is as it was before; the next publication tries again.'

/** A DuckDB file begins with three headers of 4 KB. */
const HEADERS_BYTES = 3 * 4_096

const HINT = 'Move the file away: the next publication writes a new one.'

const foreign = (path: string): ConvohouseError =>
  new ConvohouseError('TARGET_UNUSABLE', {
    what: `${path} was not written by a publication, so it is not overwritten.`,
    hint: 'Move it away, or give the target another path.',
  })

/** A query of the warehouse that began while its process wrote the next file keeps that file open until it ends. */
const WAIT_MS = 5 * MINUTE

/** Attaches a file; waits until other processes close it. */
async function attachWhenFree(database: TargetDatabase, attach: string, waitMs: number): Promise<void> {
  const untilMs = performance.now() + waitMs
  for (;;) {
    try {
      return await database.run(attach)
    } catch (cause) {
      if (!isLocked(cause) || performance.now() >= untilMs) throw cause
      await sleep(200)
    }
  }
}

/** Attaches a database as `name`, runs `work`, detaches it. */
async function attached<T>(
  database: TargetDatabase,
  { attach, name, waitMs = 0 }: { attach: string; name: string; waitMs?: number },
  work: () => Promise<T>,
): Promise<T> {
  await attachWhenFree(database, attach, waitMs)
  try {
    return await work()
  } finally {
    // After a failed checkpoint DETACH fails too; only the first error is reported.
    await database.run(`DETACH ${name}`).catch(() => {})
  }
}

const readingPublished = <T>(database: TargetDatabase, path: string, work: () => Promise<T>): Promise<T> =>
  attached(database, { attach: `ATTACH ${quoteText(path)} AS published (READ_ONLY)`, name: 'published' }, work)

/** Refuses the log of a program that wrote the file and was killed: DuckDB applies it to any file of that name. */
function expectNoLog(path: string): void {
  const log = `${path}.wal`
  if (!existsSync(log)) return
  throw new ConvohouseError('TARGET_UNUSABLE', {
    what: `${log} was not written by a publication: a program had opened the published file for writing.`,
    hint: `Remove it: what that program wrote is lost. Open published files read-only.`,
  })
}

/** Matches DuckDB's messages about its own files only. */
const DAMAGE = /Could not read enough bytes|Corrupt database file/

const damaged = ({ path, name }: Snapshot, cause: unknown): ConvohouseError =>
  new ConvohouseError('TARGET_UNUSABLE', {
    what: `${path} is truncated or damaged.`,
    hint: `Run \`convohouse publish ${name} --refill\`, which replaces it.`,
    cause,
  })

/** @throws Error like DuckDB's if the file is shorter than its used blocks. Free blocks at its end may never have been written. */
async function expectWhole({ rows }: TargetDatabase, path: string): Promise<void> {
  const [row] = await rows<{ bytes: string }>(`SELECT (${HEADERS_BYTES} + used_blocks * block_size)::VARCHAR AS bytes
    FROM pragma_database_size() WHERE database_name = 'published'`)
  if ((await stat(path)).size < Number(row!.bytes)) throw new Error('Could not read enough bytes')
}

/**
 * Reads the watermark; no process can write the file while it is open. Null for a damaged file that a refill replaces.
 * @throws TARGET_LOCKED, TARGET_UNUSABLE
 */
async function readWatermark(database: TargetDatabase, snapshot: Snapshot): Promise<TargetWatermark | null> {
  const { path, refill } = snapshot
  expectNoLog(path)
  if (!existsSync(path)) return null
  try {
    return await readingPublished(database, path, async () => {
      await expectWhole(database, path)
      const [table] = await database.rows(`SELECT 1 FROM duckdb_tables()
        WHERE database_name = 'published' AND schema_name = 'main' AND table_name = '${WATERMARK_TABLE}'`)
      if (!table) throw foreign(path)
      return readStoredWatermark(database, `published.main.${WATERMARK_TABLE}`)
    })
  } catch (cause) {
    if (!DAMAGE.test(messageOf(cause)) && (await stat(path)).size > 0) throw targetError(path, cause, HINT)
    if (refill) return null
    throw damaged(snapshot, cause)
  }
}

const inSchema = (name: string): string => (name.includes('.') ? quotedTable(name) : `main.${quoteName(name)}`)

interface Snapshot extends Pick<SnapshotTarget, 'name' | 'path' | 'search' | 'compress'> {
  /** True if a damaged file is replaced. */
  refill?: boolean
}

/**
 * Writes a delta's changes, the index, which does not follow its table, and the watermark, and checkpoints, so that no
 * log is left beside the file. The file is a copy of the published one, or contains all rows of a refill.
 */
async function writeNext(
  database: TargetDatabase,
  snapshot: Snapshot,
  { kind, tables, watermark }: Package,
): Promise<void> {
  const { search } = snapshot
  for (const statement of COMPRESSION) await database.run(statement)
  const attach = attachNext(snapshot, watermark.publicationId)
  await attached(database, { attach, name: ATTACHED, waitMs: kind === 'refill' ? WAIT_MS : 0 }, async () => {
    await transaction({ database }, async () => {
      let isSearchChanged = kind === 'refill'
      for await (const table of tables) {
        if (kind === 'delta') await expectColumns(database, table, snapshot)
        await deleteRows(database, attachedTable(table), table)
        await insertRows(database, attachedTable(table), table)
        isSearchChanged ||= table.name === SEARCHED.table
      }
      if (search !== undefined && isSearchChanged) await indexSnapshot(database, ATTACHED, search)
      for (const statement of storeWatermark(watermark)) await database.run(statement)
    })
    await database.run('CHECKPOINT target')
  })
}

/** Keeps the published file's mode, so that an owner can open it to other users permanently. A new file is private. */
async function keepMode(path: string, next: string): Promise<void> {
  const published = await stat(path).catch(() => null)
  await chmod(next, published ? published.mode & 0o777 : 0o600)
}

/** Requires the target's lock. */
async function removeNext(path: string): Promise<void> {
  const [folder, name] = [dirname(path), basename(path)]
  for (const file of await namesIn(folder))
    if (file.startsWith(name) && NEXT_ENDING.test(file.slice(name.length)))
      await rm(join(folder, file), { force: true })
}

async function applyPackage(database: TargetDatabase, snapshot: Snapshot, contents: Package): Promise<void> {
  const { path } = snapshot
  const next = nextFile(path, contents.watermark.publicationId)
  expectBase(path, await readWatermark(database, snapshot), contents.base)
  // A file system that can share blocks copies instantly.
  if (contents.kind === 'delta') await copyFile(path, next, constants.COPYFILE_FICLONE)
  // A symbolic link has been pointed elsewhere: DuckDB would create an empty file.
  else if (!existsSync(next)) throw changedTarget(path)
  await writeNext(database, snapshot, contents)
  await keepMode(path, next)
  await syncFile(next)
  expectBase(path, await readWatermark(database, snapshot), contents.base)
  await rename(next, path)
  await syncFolder(dirname(path))
}

/** Locks the target's file. For `search`, the extension `fts` must be loaded. @throws TARGET_LOCKED, TARGET_UNUSABLE */
export async function openSnapshot(database: TargetDatabase, target: Snapshot): Promise<OpenTarget> {
  const path = await followed(target.path)
  const snapshot = { ...target, path }
  await lockTarget(database, path)
  await removeNext(path).catch(cause => {
    throw targetError(path, cause, DISK_HINT)
  })
  return {
    watermark: () => readWatermark(database, snapshot),
    async apply(contents) {
      try {
        await applyPackage(database, snapshot, contents)
      } catch (cause) {
        await removeNext(path).catch(() => {})
        throw DAMAGE.test(messageOf(cause)) ? damaged(snapshot, cause) : targetError(path, cause, DISK_HINT)
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
