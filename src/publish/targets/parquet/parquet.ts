// The target `parquet`: a folder with a folder for each table, whose files are partitions. A package is applied to a new version of the
// folder: changed partitions are written, the others linked. Then the version takes the place of the current one (`parquet-versions.ts`).
import { chmod, mkdir, open, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { quoteName, quoteText } from '../../../catalog/layout.ts'
import type { PartitionColumn } from '../../../config/targets/parquet.ts'
import { ConvohouseError } from '../../../core/errors.ts'
import { entriesIn, syncFolder } from '../../../files/durable.ts'
import { linkOrCopy } from '../../../files/links.ts'
import { severally } from '../../../files/severally.ts'
import { type Package, type PackagedTable, type Sums, sumOf } from '../../package.ts'
import { PUBLISHED_FORMAT, pandasOption, selectNothing } from '../../parquet-columns.ts'
import { DEFAULT_PARTITION } from '../../partitions.ts'
import { followed, lockTarget, type TargetDatabase, targetError } from '../../target-database.ts'
import type { OpenTarget, SummedTable } from '../../target-port.ts'
import { isSame, type TargetWatermark } from '../../watermark.ts'
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

/**
 * The file of a partitioned table without rows, or without rows that have a month: without a file no reader knows the columns, and without a
 * month some find no type for the partition column.
 */
const EMPTY_FILE = 'empty.parquet'

const LOCK_FILE = 'publication.lock'

const DISK_HINT =
  'Free disk space or make the folder of the target writable. The published files are as they were before; the next publication tries again.'

/** The folder of a table: `conversations`, `marts/fct_conversations`. */
export const tableFolder = (name: string): string => name.replace('.', '/')

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

/** Writes the rows of `select`. */
async function writeRows(
  writing: Writing,
  { columns }: PackagedTable,
  { select, file }: { select: string; file: string },
): Promise<void> {
  await makeFolders(writing, dirname(file))
  const path = join(writing.folder, file)
  await writing.database.run(`COPY (${select}) TO ${quoteText(path)} (${PUBLISHED_FORMAT}, ${pandasOption(columns)})`)
  writing.files.push(path)
}

/** Takes a file of the version before, which is durable. */
async function keepFile(writing: Writing, { from, file }: { from: string; file: string }): Promise<void> {
  await makeFolders(writing, dirname(file))
  const path = join(writing.folder, file)
  if (await linkOrCopy(join(from, file), path)) await chmod(path, writing.modes.file)
  else writing.files.push(path)
}

/** From more files on, a partition is joined unless its files have many rows on average: a reader opens each file. */
const FEW_FILES = 4
const MANY_ROWS = 1_000

export const isFragmented = (files: readonly string[], rowCount: number): boolean =>
  files.length > FEW_FILES && rowCount < files.length * MANY_ROWS

/** SQL of the rows of files. */
export const rowsOfFiles = (files: readonly string[]): string =>
  `FROM read_parquet([${files.map(quoteText).join(', ')}], hive_partitioning = false)`

const dataFile = (index: number): string => (index === 0 ? 'data.parquet' : `data-${index + 1}.parquet`)

/** Takes the files of one partition, or of a table that is one, from the package: they have their final form. Many small ones are joined. */
async function takeFiles(
  writing: Writing,
  table: PackagedTable,
  { files, rowCount, folder }: { files: readonly string[]; rowCount: number; folder: string },
): Promise<void> {
  if (isFragmented(files, rowCount)) {
    const select = rowsOfFiles(files)
    return writeRows(writing, table, { select, file: join(folder, dataFile(0)) })
  }
  await makeFolders(writing, folder)
  for (const [index, from] of files.entries()) {
    const path = join(writing.folder, folder, dataFile(index))
    await linkOrCopy(from, path)
    writing.files.push(path)
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

/** The folder of the empty file: any value gives the partition columns a type. */
export const emptyFolder = (by: readonly PartitionColumn[], { asOf }: TargetWatermark): string =>
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
    await keepFile(writing, { from: from!, file: join(own, file) })
    folders.push(dirname(file))
  }
  for (const { folder, rows: files, rowCount } of written.filter(({ rows }) => rows.length > 0)) {
    await takeFiles(writing, table, { files, rowCount, folder: join(own, folder) })
    folders.push(folder)
  }
  if (folders.every(folder => folder.includes(DEFAULT_PARTITION))) {
    const file = join(own, emptyFolder(by, watermark), EMPTY_FILE)
    await writeRows(writing, table, { select: selectNothing(table.columns), file })
  }
}

/** Writes a table without partitions. */
async function writeTable(writing: Writing, table: PackagedTable): Promise<void> {
  const folder = tableFolder(table.name)
  const { rows: files, rowCount, columns } = table
  if (files.length > 0) return takeFiles(writing, table, { files, rowCount, folder })
  await writeRows(writing, table, { select: selectNothing(columns), file: join(folder, dataFile(0)) })
}

/** Writes the tables of the package, and takes the others from the version before. */
async function writeVersion(
  writing: Writing,
  { from, contents }: { from: string | null; contents: Package },
): Promise<void> {
  const { tables, watermark } = contents
  const packaged: string[] = []
  for await (const table of tables) {
    packaged.push(`${tableFolder(table.name)}/`)
    if (table.partitions) await writePartitions(writing, table, { from, watermark })
    else await writeTable(writing, table)
  }
  if (from === null) return
  for (const file of await filesBelow(from))
    if (!packaged.some(folder => file.startsWith(folder))) await keepFile(writing, { from, file })
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
  const file = join(folder, WATERMARK_FILE)
  const writing: Writing = { database, folder, modes, folders: new Set(['.']), files: [file] }
  await writeVersion(writing, { from: kind === 'delta' ? versionFolder(path, before!.id) : null, contents })
  await writeFile(file, watermarkText(watermark, erases))
  await severally(writing.files, file => syncFile(file, modes.file))
  await severally(writing.folders, inside => syncFolder(join(folder, inside)))
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
    const files = (await filesBelow(folder)).map(file => join(folder, file))
    if (files.length === 0) continue
    const values = columns.map(({ name: column }) => quoteName(column))
    sums[name] = await sumOf(database, { values, from: `(${rowsOfFiles(files)})` })
  }
  return sums
}

/** Locks the target's folder. @throws TARGET_LOCKED, TARGET_UNUSABLE */
export async function openParquet(database: TargetDatabase, given: string): Promise<OpenTarget> {
  const path = await followed(given)
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
