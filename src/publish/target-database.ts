// The DuckDB instance of a target's process, its extensions, and the lock of a target that is a file or folder. Only
// that process loads extensions, from the configured folder or else from the network. DuckDB checks their signature.
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { quoteText } from '../catalog/layout.ts'
import { diskErrorCode, diskErrorText } from '../core/disk.ts'
import { ConvohouseError, isCode } from '../core/errors.ts'
import { destinationOf } from '../files/destination.ts'
import { makeFolder } from '../files/durable.ts'
import { statementsOn, type Writer } from '../warehouse/connection.ts'
import { isLocked, isStub, messageOf, removeStub } from '../warehouse/fault.ts'
import type { ExtensionPlaces, TargetSettings } from './target-port.ts'

export type TargetDatabase = Pick<Writer, 'run' | 'rows'>

export async function openTargetDatabase(
  settings: Omit<TargetSettings, 'target' | 'extensions'>,
): Promise<TargetDatabase & { close(): void }> {
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: settings.memoryLimit,
    threads: String(settings.threads),
    temp_directory: settings.spillFolder,
    preserve_insertion_order: 'false',
    checkpoint_threshold: '1GB',
    autoinstall_known_extensions: 'false',
    // An empty folder keeps out secrets that a user has stored for DuckDB.
    secret_directory: join(settings.spillFolder, 'secrets'),
  })
  const connection = await instance.connect()
  await connection.run(`SET TimeZone = 'UTC'`)
  return { ...statementsOn(connection), close: () => instance.closeSync() }
}

/** Runs `work` in one transaction, which is REPEATABLE READ in PostgreSQL. */
export async function transaction<T>({ database }: { database: TargetDatabase }, work: () => Promise<T>): Promise<T> {
  await database.run('BEGIN')
  try {
    const result = await work()
    await database.run('COMMIT')
    return result
  } catch (error) {
    // After a lost connection ROLLBACK fails too; only the first error is reported.
    await database.run('ROLLBACK').catch(() => {})
    throw error
  }
}

const USED =
  'If no publication runs elsewhere, a program has opened the file for writing: open published files read-only.'

/** Returns the error of a target's file: TARGET_LOCKED, or TARGET_UNUSABLE with `hint`. */
export function targetError(path: string, cause: unknown, hint: string): ConvohouseError {
  // The original error names the data folder, but the target may be elsewhere.
  if (isCode(cause, 'HOME_UNUSABLE'))
    return new ConvohouseError('TARGET_UNUSABLE', { what: cause.message, hint, cause })
  if (cause instanceof ConvohouseError) return cause
  if (isLocked(cause))
    return new ConvohouseError('TARGET_LOCKED', { what: `Another process holds ${path}.`, hint: USED, cause })
  const why = diskErrorCode(cause) === null ? messageOf(cause).split('\n')[0]! : diskErrorText(cause)
  return new ConvohouseError('TARGET_UNUSABLE', { what: `Cannot use ${path}: ${why}`, hint, cause })
}

/** Resolves a symbolic link, which may lead to a disk with more space, so that it is not replaced. @throws TARGET_UNUSABLE */
export const followed = (path: string): Promise<string> =>
  destinationOf(path).catch(cause => {
    throw targetError(path, cause, 'Correct the symbolic link, or give the target another path.')
  })

const LOCK_HINT = 'Make the folder of the target writable, and free disk space if it is full.'

/** The error of a target whose server holds the lock of another publication. */
export const lockedTarget = (place: string): ConvohouseError =>
  new ConvohouseError('TARGET_LOCKED', {
    what: `Another publication is writing ${place}.`,
    hint: 'Try again when it has ended. The server may take a minute to notice that a killed one has.',
  })

const foreignLock = (file: string, cause: unknown): ConvohouseError =>
  new ConvohouseError('TARGET_UNUSABLE', {
    what: `${file} was not written by a publication, and a publication needs its name for a lock.`,
    hint: 'Move it away, or give the target another path.',
    cause,
  })

/**
 * Locks a target until this process ends. Only one process at a time can attach a DuckDB file, and the system releases
 * it when the process ends. @throws TARGET_LOCKED, TARGET_UNUSABLE
 */
export async function lockTarget(database: TargetDatabase, path: string, file = `${path}.lock`): Promise<void> {
  try {
    await makeFolder(dirname(file))
    const attach = () => database.run(`ATTACH ${quoteText(file)} AS target_lock`)
    await attach().catch(async cause => {
      if (isLocked(cause)) throw cause
      // A kill or a full disk cut the file off while DuckDB was creating it.
      if (!(await isStub(file).catch(() => false)))
        throw diskErrorCode(cause) === null ? foreignLock(file, cause) : cause
      await removeStub(file).catch(() => {})
      await attach()
    })
  } catch (cause) {
    throw targetError(path, cause, LOCK_HINT)
  }
}

const fileOf = (name: string): string => `${name}.duckdb_extension`

const unavailable = (name: string, what: string, cause?: unknown): ConvohouseError =>
  new ConvohouseError('EXTENSION_UNAVAILABLE', {
    what,
    hint: `Put the file ${fileOf(name)} of the same DuckDB version into the folder that \`extensions\` of the configuration (or CONVOHOUSE_EXTENSIONS) names: docs/publishing.md says where it comes from.`,
    cause,
  })

const reasonOf = (cause: unknown): string => String((cause as Error | undefined)?.message ?? cause).split('\n')[0]!

/** `folder` is the configured one. Downloaded extensions are stored in the data folder. */
export const extensionPlaces = (home: string, folder: string | null): ExtensionPlaces => ({
  folder,
  cache: join(home, 'publish', 'extensions'),
})

/** @throws EXTENSION_UNAVAILABLE */
export async function loadExtension(
  database: Pick<TargetDatabase, 'run'>,
  name: string,
  { folder, cache }: ExtensionPlaces,
): Promise<void> {
  // Without HOME, DuckDB finds no default folders.
  for (const setting of ['home_directory', 'extension_directory', 'secret_directory'])
    await database.run(`SET ${setting} = ${quoteText(cache)}`)
  const file = folder === null ? null : join(folder, fileOf(name))
  if (file !== null && !existsSync(file)) throw unavailable(name, `There is no extension ${file}.`)
  try {
    if (file === null) {
      // DuckDB refuses to install into a home directory that does not exist.
      await mkdir(cache, { recursive: true, mode: 0o700 })
      await database.run(`INSTALL ${name}`)
    }
    await database.run(file === null ? `LOAD ${name}` : `LOAD ${quoteText(file)}`)
  } catch (cause) {
    const what =
      file === null ? `DuckDB's extension ${name} cannot be downloaded` : `The extension ${file} cannot be loaded`
    throw unavailable(name, `${what}: ${reasonOf(cause)}`, cause)
  }
}
