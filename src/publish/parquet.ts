// The target `parquet`: a folder with a folder for each table, whose files are partitions. A package is applied to a new version of the
// folder: changed partitions are written, the others linked. Then the version takes the place of the current one (`parquet-versions.ts`).
import { chmod, constants, copyFile, link, mkdir, open, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { quoteName, quoteText } from '../catalog/layout.ts'
import type { PartitionColumn } from '../config/targets.ts'
import { hasCode } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'
import { entriesIn, syncFolder } from '../files/durable.ts'
import { type Package, type PackagedTable, type Sums, sumOf } from './package.ts'
import { pandasOption, selectWritten } from './parquet-columns.ts'
import {
  createVersion,
  currentVersion,
  removeOldVersions,
  switchTo,
  syncVersions,
  type Version,
  versionFolder,
  versionId,
  WATERMARK_FILE,
  watermarkText,
} from './parquet-versions.ts'
import { DEFAULT_PARTITION } from './partitions.ts'
import { lockTarget, type TargetDatabase, targetError } from './target-database.ts'
import type { OpenTarget, SummedTable } from './target-port.ts'
import { isSame, type TargetWatermark } from './watermark.ts'

/** Larger ones need more memory for wide tables, and smaller ones compress less. */
const ROW_GROUP_ROWS = 8_192

const DATA_FILE = 'data.parquet'

/**
 * The file of a partitioned table that has no rows, or none with a month: without a file no reader knows the columns, and without a month
 * some find no type for the partition column.
 */
const EMPTY_FILE = 'empty.parquet'

const LOCK_FILE = 'publication.lock'

const DISK_HINT =
  'Free disk space or make the folder of the target writable. The published files are as they were before; the next publication tries again.'

/** The folder of a table: `conversations`, `marts/fct_conversations`. */
const tableFolder = (name: string): string => name.replace('.', '/')

interface Modes {
  folder: number
  file: number
}

/** A version that is being written. */
interface Writing {
  database: TargetDatabase
  folder: string
  modes: Modes
  /** Folders of the version, of which `.` is itself: their names must be made durable. */
  folders: Set<string>
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

/** Writes one partition, or a table that is one. */
async function writeFileOf(
  writing: Writing,
  { columns }: PackagedTable,
  { rows, file }: { rows: readonly string[]; file: string },
): Promise<void> {
  await makeFolders(writing, dirname(file))
  const source =
    rows.length === 0 ? null : `read_parquet([${rows.map(quoteText).join(', ')}], hive_partitioning = false)`
  const options = `FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${ROW_GROUP_ROWS}, ${pandasOption(columns)}`
  const path = join(writing.folder, file)
  await writing.database.run(`COPY (${selectWritten(columns, source)}) TO ${quoteText(path)} (${options})`)
  await syncFile(path, writing.modes.file)
}

/** Errors of file systems that cannot link: without hard links, or with too many of a file. */
const CANNOT_LINK = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']

/** Takes a file of the version before. */
async function takeFile(writing: Writing, { from, file }: { from: string; file: string }): Promise<void> {
  await makeFolders(writing, dirname(file))
  const [old, path] = [join(from, file), join(writing.folder, file)]
  try {
    await link(old, path)
    await chmod(path, writing.modes.file)
  } catch (cause) {
    if (!CANNOT_LINK.some(code => hasCode(cause, code))) throw cause
    await copyFile(old, path, constants.COPYFILE_FICLONE)
    await syncFile(path, writing.modes.file)
  }
}

/** Parquet files below a folder, relative to it. */
async function filesBelow(folder: string): Promise<string[]> {
  const found: string[] = []
  for (const entry of await entriesIn(folder)) {
    if (entry.isDirectory())
      found.push(...(await filesBelow(join(folder, entry.name))).map(file => join(entry.name, file)))
    else if (entry.name.endsWith('.parquet')) found.push(entry.name)
  }
  return found
}

/** Any value gives the columns a type. */
const emptyFolder = (by: readonly PartitionColumn[], { asOf }: TargetWatermark): string =>
  join(...by.map(column => (column === 'month' ? `month=${asOf.slice(0, 7)}` : `${column}=none`)))

/** Writes the changed partitions of a table, and takes the others. */
async function writePartitions(
  writing: Writing,
  table: PackagedTable,
  { from, watermark }: { from: string | null; watermark: TargetWatermark },
): Promise<void> {
  const { by, written } = table.partitions!
  const own = tableFolder(table.name)
  const replaced = new Set(written.map(({ folder }) => folder))
  const kept = from === null || table.isWhole ? [] : await filesBelow(join(from, own))
  const folders: string[] = []
  for (const file of kept.filter(name => !replaced.has(dirname(name)) && basename(name) !== EMPTY_FILE)) {
    await takeFile(writing, { from: from!, file: join(own, file) })
    folders.push(dirname(file))
  }
  for (const { folder, rows } of written.filter(partition => partition.rows.length > 0)) {
    await writeFileOf(writing, table, { rows, file: join(own, folder, DATA_FILE) })
    folders.push(folder)
  }
  if (folders.every(folder => folder.includes(DEFAULT_PARTITION)))
    await writeFileOf(writing, table, { rows: [], file: join(own, emptyFolder(by, watermark), EMPTY_FILE) })
}

/** Writes the tables of the package, and takes the others from the version before. */
async function writeVersion(
  writing: Writing,
  { from, contents }: { from: string | null; contents: Package },
): Promise<void> {
  const { tables, watermark } = contents
  for (const table of tables) {
    if (table.partitions) await writePartitions(writing, table, { from, watermark })
    else await writeFileOf(writing, table, { rows: table.rows, file: join(tableFolder(table.name), DATA_FILE) })
  }
  if (from === null) return
  const packaged = tables.map(({ name }) => `${tableFolder(name)}/`)
  for (const file of await filesBelow(from))
    if (!packaged.some(folder => file.startsWith(folder))) await takeFile(writing, { from, file })
}

/** A published folder keeps its mode, so that an owner can open it to other users once and for all; a new one is private. */
async function modesOf(path: string): Promise<Modes> {
  const { mode } = await stat(path)
  return { folder: mode & 0o777, file: mode & 0o666 }
}

/** @throws TARGET_CHANGED */
function expectBase(path: string, current: Version | null, base: TargetWatermark | null): void {
  if (isSame(current?.watermark ?? null, base)) return
  throw new ConvohouseError('TARGET_CHANGED', {
    what: `${path} was replaced while a publication to it was being written. The publication was discarded.`,
    hint: 'Nothing to do: the next publication starts from the present files.',
  })
}

async function applyPackage(database: TargetDatabase, path: string, contents: Package): Promise<void> {
  const { kind, base, watermark, erases } = contents
  const before = await currentVersion(path)
  expectBase(path, before, base)
  const id = versionId(watermark)
  const modes = await modesOf(path)
  const folder = await createVersion(path, id, modes.folder)
  const writing: Writing = { database, folder, modes, folders: new Set(['.']) }
  await writeVersion(writing, { from: kind === 'delta' ? versionFolder(path, before!.id) : null, contents })
  const file = join(folder, WATERMARK_FILE)
  await writeFile(file, watermarkText(watermark, erases || !before ? null : before.id))
  await syncFile(file, modes.file)
  for (const inside of writing.folders) await syncFolder(join(folder, inside))
  await syncVersions(path)
  expectBase(path, await currentVersion(path), base)
  await switchTo(path, id)
}

/** Reads the sums back from the files. */
async function sumsOf(database: TargetDatabase, path: string, tables: readonly SummedTable[]): Promise<Sums> {
  const current = await currentVersion(path)
  const sums: Sums = {}
  for (const { name, columns } of tables) {
    const folder = join(versionFolder(path, current!.id), tableFolder(name))
    const files = (await filesBelow(folder)).map(file => quoteText(join(folder, file)))
    if (files.length === 0) continue
    const from = `read_parquet([${files.join(', ')}], hive_partitioning = false)`
    sums[name] = await sumOf(database, { values: columns.map(({ name: column }) => quoteName(column)), from })
  }
  return sums
}

/** Locks the target's folder. @throws TARGET_LOCKED, TARGET_UNUSABLE */
export async function openParquet(database: TargetDatabase, path: string): Promise<OpenTarget> {
  const orUnusable = <T>(work: Promise<T>, hint: string): Promise<T> =>
    work.catch(cause => {
      throw targetError(path, cause, hint)
    })
  // Inside: the folder may be the root of a file system.
  await lockTarget(database, path, join(path, LOCK_FILE))
  await orUnusable(removeOldVersions(path), DISK_HINT)
  return {
    watermark: () => orUnusable(currentVersion(path), DISK_HINT).then(version => version?.watermark ?? null),
    async apply(contents) {
      try {
        await applyPackage(database, path, contents)
      } catch (cause) {
        await removeOldVersions(path).catch(() => {})
        throw targetError(path, cause, DISK_HINT)
      }
      await orUnusable(removeOldVersions(path), DISK_HINT)
    },
    sums: tables => orUnusable(sumsOf(database, path, tables), DISK_HINT),
  }
}
