// The DuckDB instance of a target's process, and the lock of a target that is a file or folder.
import { readFile, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { quoteText } from '../catalog/layout.ts'
import { diskErrorCode, diskErrorText } from '../core/disk.ts'
import { ConvohouseError, isCode } from '../core/errors.ts'
import { makeFolder } from '../files/durable.ts'
import { destinationOf } from '../files/links.ts'
import { statementsOn, type Writer } from '../warehouse/connection.ts'
import { isLocked, messageOf } from '../warehouse/fault.ts'
import type { TargetSettings } from './target-port.ts'

export type TargetDatabase = Pick<Writer, 'run' | 'rows'>

export async function openTargetDatabase(
  settings: Omit<TargetSettings, 'target' | 'extensions'>,
): Promise<TargetDatabase> {
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: settings.memoryLimit,
    threads: String(settings.threads),
    temp_directory: settings.spillFolder,
    preserve_insertion_order: 'false',
    checkpoint_threshold: '1GB',
    autoinstall_known_extensions: 'false',
    // An empty folder: secrets that a user has stored for DuckDB are not those of a target.
    secret_directory: join(settings.spillFolder, 'secrets'),
  })
  const connection = await instance.connect()
  await connection.run(`SET TimeZone = 'UTC'`)
  return statementsOn(connection)
}

/** Runs `work` in one transaction, which is REPEATABLE READ in PostgreSQL. */
export async function transaction<T>({ database }: { database: TargetDatabase }, work: () => Promise<T>): Promise<T> {
  await database.run('BEGIN')
  try {
    const result = await work()
    await database.run('COMMIT')
    return result
  } catch (error) {
    // After a lost connection this fails too; the first error is the one to report.
    await database.run('ROLLBACK').catch(() => {})
    throw error
  }
}

const USED =
  'If no publication runs elsewhere, a program has opened the file for writing: open published files read-only.'

/** Returns the error of a target's file: TARGET_LOCKED, or TARGET_UNUSABLE with `hint`. */
export function targetError(path: string, cause: unknown, hint: string): ConvohouseError {
  // An error about a folder speaks of the data folder, which a target need not be in.
  if (isCode(cause, 'HOME_UNUSABLE'))
    return new ConvohouseError('TARGET_UNUSABLE', { what: cause.message, hint, cause })
  if (cause instanceof ConvohouseError) return cause
  if (isLocked(cause))
    return new ConvohouseError('TARGET_LOCKED', { what: `Another process holds ${path}.`, hint: USED, cause })
  const why = diskErrorCode(cause) === null ? messageOf(cause).split('\n')[0]! : diskErrorText(cause)
  return new ConvohouseError('TARGET_UNUSABLE', { what: `Cannot use ${path}: ${why}`, hint, cause })
}

/** Follows a symbolic link, which may lead to a disk with more space, instead of replacing it. @throws TARGET_UNUSABLE */
export const followed = (path: string): Promise<string> =>
  destinationOf(path).catch(cause => {
    throw targetError(path, cause, 'Correct the symbolic link, or give the target another path.')
  })

const LOCK_HINT = 'Make the folder of the target writable, and free disk space if it is full.'

/** The size of a DuckDB file without tables: three headers. */
const HEADERS_BYTES = 12_288

/** True for the file that a kill leaves while DuckDB creates a lock. It holds no data. */
async function isCutOff(file: string): Promise<boolean> {
  if ((await stat(file)).size > HEADERS_BYTES) return false
  const content = await readFile(file)
  return content.every(byte => byte === 0) || content.subarray(8, 12).toString() === 'DUCK'
}

const foreignLock = (file: string, cause: unknown): ConvohouseError =>
  new ConvohouseError('TARGET_UNUSABLE', {
    what: `${file} was not written by a publication, and a publication needs its name for a lock.`,
    hint: 'Move it away, or give the target another path.',
    cause,
  })

/**
 * Locks a target for as long as this process lives. One process at a time can attach a file of DuckDB, and the system releases it when the
 * process ends. @throws TARGET_LOCKED, TARGET_UNUSABLE
 */
export async function lockTarget(database: TargetDatabase, path: string, file = `${path}.lock`): Promise<void> {
  const attach = () => database.run(`ATTACH ${quoteText(file)} AS target_lock`)
  try {
    await makeFolder(dirname(file))
    await attach().catch(async cause => {
      if (isLocked(cause) || diskErrorCode(cause) !== null) throw cause
      if (!(await isCutOff(file).catch(() => false))) throw foreignLock(file, cause)
      await rm(file, { force: true })
      await attach()
    })
  } catch (cause) {
    throw targetError(path, cause, LOCK_HINT)
  }
}
