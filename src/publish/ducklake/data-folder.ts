// The place of a lake's data files, and what it is if it is a folder.
import { existsSync, type Stats } from 'node:fs'
import { chmod, chown, mkdir, readdir, rm, rmdir, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { hasCode } from '../../core/disk.ts'
import type { ConvohouseError } from '../../core/errors.ts'
import { makeFolder, syncFile, syncFolder } from '../../files/durable.ts'
import { linkOrCopy } from '../../files/link-or-copy.ts'
import { severally } from '../severally.ts'
import type { TargetDatabase } from '../target-database.ts'

export interface LakeData {
  /** Lets DuckDB write there. To be called for each connection. @throws SECRET_MISSING if credentials cannot be read */
  prepare(database: TargetDatabase): Promise<void>
  /** Whether there is anything in a folder of the place. */
  has(folder: string): Promise<boolean>
  /** Makes the files durable that were written since: else a power failure could leave a catalog that names files which were never written. */
  sync(sinceMs: number): Promise<void>
  /** Takes a local file, whose former name the caller removes; absent: it cannot. */
  take?(from: string, name: string): Promise<void>
  /** Removes files; a name is relative to the place. */
  remove(names: readonly string[]): Promise<void>
  /** Removes folders of partitions without files below a table's folder: their names have values; absent: the place has no folders. */
  removeEmptyPartitions?(folder: string): Promise<void>
  /** The error of the place; null if it is of something else. */
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

/** A folder may be another user's, who has put it there. */
async function removeEmpty(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    if (!entry.isDirectory() || !entry.name.includes('=')) continue
    const path = join(folder, entry.name)
    await removeEmpty(path)
    await rmdir(path).catch(cause => {
      if (!KEEPS_FOLDER.some(code => hasCode(cause, code))) throw cause
    })
  }
}

/** Why a folder is not removed: it has something in it, is gone, or belongs to somebody else. */
const KEEPS_FOLDER = ['ENOTEMPTY', 'EEXIST', 'ENOENT', 'EACCES', 'EPERM', 'EBUSY']

const SETGID = 0o2000

/** A file system without modes refuses them, and a folder's group may be one that this user is not in. */
function unlessRefused(cause: unknown): void {
  if (!hasCode(cause, 'EPERM')) throw cause
}

/** The mode of a file that is created there, and the group if the folder gives its own. */
async function giveAccess(path: string, folder: Stats, mode: number): Promise<void> {
  if (folder.mode & SETGID) await chown(path, (await stat(path)).uid, folder.gid).catch(unlessRefused)
  await chmod(path, mode & 0o666).catch(unlessRefused)
}

/** `data`: absolute. */
export const dataFolder = (data: string): LakeData => ({
  async prepare() {
    await makeFolder(data)
    // Files that others than this user may read, if the owner has opened the folder to them; private at first.
    process.umask(0o777 & ~(await stat(data)).mode)
  },
  has: async folder => existsSync(join(data, folder)),
  sync: sinceMs => syncFiles(data, sinceMs),
  async take(from, name) {
    const path = join(data, name)
    await mkdir(dirname(path), { recursive: true })
    await linkOrCopy(from, path)
    // `sync` goes by the time; the package's files are private.
    await utimes(path, new Date(), new Date())
    await giveAccess(path, await stat(dirname(path)), (await stat(data)).mode)
  },
  async remove(names) {
    for (const name of names) await rm(join(data, name), { force: true })
  },
  removeEmptyPartitions: folder => removeEmpty(join(data, folder)),
  errorOf: () => null,
  close() {},
})
