// The target `parquet` in a folder: a folder for each table, whose files are partitions. A package creates a new version of the
// folder: changed partitions are written, the others linked. Then the version replaces the current one (`parquet-versions.ts`).
import { constants } from 'node:fs'
import { chmod, copyFile, link, mkdir, open, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { ParquetTarget } from '../../../config/targets/parquet.ts'
import { hasCode } from '../../../core/disk.ts'
import { entriesIn, syncFolder } from '../../../files/durable.ts'
import { severally } from '../../../files/severally.ts'
import type { Package, Sums } from '../../package.ts'
import { followed, lockTarget, type TargetDatabase, targetError } from '../../target-database.ts'
import type { OpenTarget, SummedTable, TargetSettings } from '../../target-port.ts'
import { changedByOwner, expectBase } from '../../watermark.ts'
import {
  createVersion,
  currentVersion,
  type FileSizes,
  removeOldVersions,
  switchTo,
  syncVersions,
  type Version,
  versionFolder,
  versionId,
  WATERMARK_FILE,
  watermarkText,
} from './parquet-versions.ts'
import { type FileStore, sumsOfFiles, type TableFile, tableOf, writeTables } from './table-files.ts'

const EMPTY_FILE = 'empty.parquet'

const LOCK_FILE = 'publication.lock'

const DISK_HINT =
  'Free disk space or make the folder of the target writable. The published files are as they were before; the next publication tries again.'

interface Modes {
  folder: number
  file: number
}

/** A version that is being written. */
interface Writing {
  folder: string
  modes: Modes
  /** Folders of the version, `.` being the version itself, whose names must be made durable. */
  folders: Set<string>
  /** Files that must be made durable. */
  files: string[]
}

async function makeFolders(writing: Writing, inside: string): Promise<void> {
  const { folder, modes, folders } = writing
  if (folders.has(inside)) return
  await makeFolders(writing, dirname(inside))
  await mkdir(join(folder, inside))
  await chmod(join(folder, inside), modes.folder)
  folders.add(inside)
}

async function syncFile(path: string, mode: number): Promise<void> {
  const handle = await open(path, 'r+')
  try {
    await handle.chmod(mode)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const dataFile = (index: number): string => (index === 0 ? 'data.parquet' : `data-${index + 1}.parquet`)

/** Errors of file systems that cannot link: they lack hard links, the file has too many, or it is on another file system. */
const CANNOT_LINK = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV']

/** Gives a file a second name, or copies it if the file system cannot link. @returns false if it was copied */
async function linkOrCopy(from: string, path: string): Promise<boolean> {
  try {
    await link(from, path)
    return true
  } catch (cause) {
    if (!CANNOT_LINK.some(code => hasCode(cause, code))) throw cause
    await copyFile(from, path, constants.COPYFILE_FICLONE)
    return false
  }
}

/** `from` is the folder of the previous version, whose files are durable. */
const storeOf = (writing: Writing, from: string): FileStore => ({
  async keep({ path, folder }) {
    await makeFolders(writing, folder)
    const kept = join(writing.folder, path)
    if (await linkOrCopy(join(from, path), kept)) await chmod(kept, writing.modes.file)
    else writing.files.push(kept)
  },
  async add(folder, files, isEmpty) {
    await makeFolders(writing, folder)
    for (const [index, file] of files.entries()) {
      const path = join(writing.folder, folder, isEmpty ? EMPTY_FILE : dataFile(index))
      await linkOrCopy(file, path)
      writing.files.push(path)
    }
  },
})

/** Returns the Parquet files of a version. */
async function filesIn(version: string, folder = '.'): Promise<TableFile[]> {
  const found: TableFile[] = []
  for (const entry of await entriesIn(join(version, folder))) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) found.push(...(await filesIn(version, path)))
    else if (entry.name.endsWith('.parquet')) found.push({ path, folder, isEmpty: basename(path) === EMPTY_FILE })
  }
  return found
}

/** Returns the modes to keep, so that an owner can open a folder to other users permanently; a new one is private. */
async function modesOf(path: string): Promise<Modes> {
  const { mode } = await stat(path)
  return { folder: mode & 0o777, file: mode & 0o666 }
}

interface Place {
  database: TargetDatabase
  path: string
  name: string
  spillFolder: string
  /** True if a version whose watermark is damaged is replaced. */
  isReplaced: boolean
}

const sizesOf = async (version: string, files: readonly TableFile[]): Promise<FileSizes> =>
  Object.fromEntries(await Promise.all(files.map(async ({ path }) => [path, (await stat(join(version, path))).size])))

/** Returns the files that a delta may link. @throws TARGET_CHANGED if one is gone, or has not the size that was recorded */
async function unchangedFiles({ path, name }: Place, { id, files: recorded }: Version): Promise<TableFile[]> {
  const version = versionFolder(path, id)
  const files = await filesIn(version)
  const sizes = await sizesOf(version, files)
  const changed = Object.keys({ ...recorded, ...sizes }).find(file => sizes[file] !== recorded[file])
  if (changed === undefined) return files
  throw changedByOwner(`${join(version, changed)} is not as it was published.`, name)
}

async function applyPackage(place: Place, contents: Package): Promise<void> {
  const { database, path, spillFolder, isReplaced } = place
  const { kind, base, watermark, erases } = contents
  const before = await currentVersion(path, isReplaced)
  expectBase(path, before?.watermark ?? null, base)
  const id = versionId(watermark)
  const modes = await modesOf(path)
  const folder = await createVersion(path, id, modes.folder)
  const file = join(folder, WATERMARK_FILE)
  const writing: Writing = { folder, modes, folders: new Set(['.']), files: [file] }
  const from = before === null ? '' : versionFolder(path, before.id)
  const store = storeOf(writing, from)
  const kept = kind === 'delta' ? await unchangedFiles(place, before!) : []
  await writeTables({ database, store, spillFolder }, kept, contents)
  await writeFile(file, watermarkText({ watermark, erases, files: await sizesOf(folder, await filesIn(folder)) }))
  await severally(writing.files, file => syncFile(file, modes.file))
  await severally(writing.folders, inside => syncFolder(join(folder, inside)))
  await syncVersions(path)
  expectBase(path, (await currentVersion(path, isReplaced))?.watermark ?? null, base)
  await switchTo(path, id)
}

async function sumsOf({ database, path }: Place, tables: readonly SummedTable[]): Promise<Sums> {
  const version = versionFolder(path, (await currentVersion(path))!.id)
  const files = new Map<string, string[]>()
  for (const { path: file, folder } of await filesIn(version)) {
    const table = tableOf(folder)
    files.set(table, [...(files.get(table) ?? []), join(version, file)])
  }
  return sumsOfFiles(database, tables, files)
}

/** Locks the target's folder. @throws TARGET_LOCKED, TARGET_UNUSABLE */
export async function openParquet(
  database: TargetDatabase,
  { path: given, name }: Pick<ParquetTarget, 'path' | 'name'>,
  { spillFolder, refill: isReplaced = false }: Pick<TargetSettings, 'spillFolder' | 'refill'>,
): Promise<OpenTarget> {
  const path = await followed(given)
  const place = { database, path, name, spillFolder, isReplaced }
  const orUnusable = <T>(work: Promise<T>, hint: string): Promise<T> =>
    work.catch(cause => {
      throw targetError(path, cause, hint)
    })
  // The lock file is inside, since the folder may be the root of a file system.
  await lockTarget(database, path, join(path, LOCK_FILE))
  await orUnusable(removeOldVersions(path, isReplaced), DISK_HINT)
  return {
    watermark: () =>
      orUnusable(currentVersion(path, isReplaced), DISK_HINT).then(version => version?.watermark ?? null),
    async apply(contents) {
      try {
        await applyPackage(place, contents)
      } catch (cause) {
        await removeOldVersions(path, isReplaced).catch(() => {})
        throw targetError(path, cause, DISK_HINT)
      }
      await orUnusable(removeOldVersions(path), DISK_HINT)
    },
    sums: tables =>
      orUnusable(sumsOf(place, tables), `Run \`convohouse publish ${name} --refill\`, which writes all files again.`),
  }
}
