// The place of a lake's data files: a folder, or S3.
import { existsSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ConvohouseError } from '../../../core/errors.ts'
import { makeFolder, syncFile, syncFolder } from '../../../files/durable.ts'
import { severally } from '../../../files/severally.ts'
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
export const dataFolder = (data: string): LakeData => ({
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
