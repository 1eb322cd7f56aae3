// The place of a lake's data files: a folder, or S3.
import { existsSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { S3Place } from '../../../config/s3.ts'
import type { LakeTarget } from '../../../config/targets/ducklake.ts'
import type { ConvohouseError } from '../../../core/errors.ts'
import { makeFolder, syncFile, syncFolder } from '../../../files/durable.ts'
import { severally } from '../../../files/severally.ts'
import { messageOf } from '../../../warehouse/fault.ts'
import type { TargetDatabase } from '../../target-database.ts'

export interface LakeData {
  /** Lets DuckDB write there. Called for each connection. @throws SECRET_MISSING if credentials cannot be read */
  prepare(database: TargetDatabase): Promise<void>
  /** True if a folder of the place has anything in it. */
  has(folder: string): Promise<boolean>
  /** Makes files durable that were written since: after a power failure, the catalog must not name files that were never written. */
  sync(sinceMs: number): Promise<void>
  /** Removes files, by their names relative to the place. */
  remove(names: readonly string[]): Promise<void>
  /** Returns the error of the place; null if the cause lies elsewhere. */
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

/** `data`: absolute. */
const dataFolder = (data: string): LakeData => ({
  async prepare() {
    await makeFolder(data)
    // Other users may read the files if the owner has opened the folder to them; it is private at first.
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

/** True for an error of DuckDB's extension `httpfs`. Its first line says what failed; `doctor` asks the server itself for the reason. */
const isOfHttpfs = (cause: unknown): boolean =>
  /\bHTTP Error: |for HTTP [A-Z]+ to '|Failed to remove files: /.test(messageOf(cause))

/** Objects in S3, which DuckDB writes, reads and removes: one is durable once the server has confirmed it. @throws SECRET_MISSING */
async function dataObjects(place: S3Place): Promise<LakeData> {
  // AWS's SDK takes longer to load than all else, and few lakes need it.
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
export const lakeData = async ({ s3, data }: LakeTarget): Promise<LakeData> =>
  s3 === null ? dataFolder(data) : dataObjects(s3)
