// The target `parquet` in S3. A publication uploads the changed partitions as new objects, while the package is written, and then replaces the
// manifest in one conditional request (`manifest.ts`). The copies for readers without the manifest follow.
//
// There is no lock: the owner's data folder lets one publication run at a time, and of two that run nevertheless, the one that replaces the
// manifest second fails. A request of a killed process that arrives late can therefore not undo a later state.
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { quoteName, quoteText } from '../../../catalog/layout.ts'
import { type S3Place, s3Text } from '../../../config/s3.ts'
import { ConvohouseError } from '../../../core/errors.ts'
import { severally } from '../../../files/severally.ts'
import { type Package, type PackagedTable, type Sums, sumOf } from '../../package.ts'
import { PUBLISHED_FORMAT, pandasOption, selectNothing } from '../../parquet-columns.ts'
import { DEFAULT_PARTITION } from '../../partitions.ts'
import { connectS3, isConflict, openS3InDuckdb, type S3Connection, s3Error } from '../../s3/client.ts'
import { type Objects, objectsIn, probing } from '../../s3/objects.ts'
import { loadExtension, type TargetDatabase } from '../../target-database.ts'
import type { OpenTarget, SummedTable, TargetSettings } from '../../target-port.ts'
import { isSame, type TargetWatermark } from '../../watermark.ts'
import {
  complete,
  folderOf,
  isComplete,
  isCopy,
  isEmptyFile,
  MANIFEST,
  type Manifest,
  type ManifestFile,
  manifestText,
  objectPath,
  parseManifest,
  readCopies,
} from './manifest.ts'
import { emptyFolder, isFragmented, rowsOfFiles, tableFolder } from './parquet.ts'
import { versionId } from './parquet-versions.ts'

interface Target {
  database: TargetDatabase
  place: S3Place
  settings: TargetSettings
}

interface Stored extends Manifest {
  etag: string
}

async function readManifest(objects: Objects, place: S3Place): Promise<Stored | null> {
  const found = await objects.get(MANIFEST)
  return found && { ...parseManifest(found.text, s3Text(place)), etag: found.etag }
}

/** @throws TARGET_CHANGED */
function expectBase(place: S3Place, stored: Stored | null, base: TargetWatermark | null): void {
  if (!isSame(stored?.watermark ?? null, base)) throw changed(place)
}

const changed = (place: S3Place): ConvohouseError =>
  new ConvohouseError('TARGET_CHANGED', {
    what: `${s3Text(place)} was replaced while a publication to it was being written. The publication was discarded.`,
    hint: 'Nothing to do: the next publication starts from the present objects.',
  })

/** Copies are made after the first manifest, so what has such a name before it is not ours. */
const foreign = (place: S3Place, name: string): ConvohouseError =>
  new ConvohouseError('TARGET_UNUSABLE', {
    what: `${s3Text(place)} has no manifest, but an object ${name}, which a publication would overwrite.`,
    hint: `Move the object away, or give the target a prefix of its own. If ${MANIFEST} was deleted by mistake, delete all objects of the target.`,
  })

/** A publication whose objects are being uploaded. */
interface Upload {
  target: Target
  objects: Objects
  version: string
  uploaded: string[]
}

/** Writes the rows of `select` to a local file, and uploads that. */
async function uploadRows(
  { target: { database, settings }, objects, uploaded }: Upload,
  { table, select, path }: { table: PackagedTable; select: string; path: string },
): Promise<void> {
  await mkdir(settings.spillFolder, { recursive: true })
  const file = join(settings.spillFolder, 'upload.parquet')
  await database.run(`COPY (${select}) TO ${quoteText(file)} (${PUBLISHED_FORMAT}, ${pandasOption(table.columns)})`)
  uploaded.push(path)
  await objects.upload(path, file)
  await rm(file)
}

/** Uploads the files of one partition, or of a table that is one, as they are: writing them again takes as long as the package. Joins many small ones. */
async function uploadFiles(
  upload: Upload,
  table: PackagedTable,
  { files, rowCount, folder }: { files: readonly string[]; rowCount: number; folder: string },
): Promise<string[]> {
  if (isFragmented(files, rowCount)) {
    const path = objectPath({ folder, part: 0 }, upload.version)
    await uploadRows(upload, { table, select: rowsOfFiles(files), path })
    return [path]
  }
  const parts = files.map((file, part) => ({ file, path: objectPath({ folder, part }, upload.version) }))
  await severally(parts, async ({ file, path }) => {
    upload.uploaded.push(path)
    await upload.objects.upload(path, file)
  })
  return parts.map(({ path }) => path)
}

/** Uploads the changed partitions of a table. @returns all objects of the table, of which `before` were its objects so far */
async function uploadPartitions(
  upload: Upload,
  table: PackagedTable,
  { before, watermark }: { before: readonly string[]; watermark: TargetWatermark },
): Promise<string[]> {
  const { by, written } = table.partitions!
  const own = tableFolder(table.name)
  const replaced = new Set(written.map(({ folder }) => `${own}/${folder}`))
  const paths = table.isWhole ? [] : before.filter(path => !replaced.has(folderOf(path)) && !isEmptyFile(path))
  for (const { folder, rows: files, rowCount } of written.filter(({ rows }) => rows.length > 0))
    paths.push(...(await uploadFiles(upload, table, { files, rowCount, folder: `${own}/${folder}` })))
  if (paths.some(path => !folderOf(path).includes(DEFAULT_PARTITION))) return paths
  const path = objectPath({ folder: `${own}/${emptyFolder(by, watermark)}`, part: 'empty' }, upload.version)
  await uploadRows(upload, { table, select: selectNothing(table.columns), path })
  return [...paths, path]
}

/** Uploads a table without partitions. */
async function uploadTable(upload: Upload, table: PackagedTable): Promise<string[]> {
  const { rows: files, rowCount, columns } = table
  const folder = tableFolder(table.name)
  if (files.length > 0) return uploadFiles(upload, table, { files, rowCount, folder })
  const path = objectPath({ folder, part: 0 }, upload.version)
  await uploadRows(upload, { table, select: selectNothing(columns), path })
  return [path]
}

/** Uploads the objects of a package. @returns all objects of the new state */
async function uploadPackage(
  upload: Upload,
  { before, contents }: { before: Stored | null; contents: Package },
): Promise<ManifestFile[]> {
  const { kind, tables, watermark } = contents
  const files = new Map<string, string[]>()
  if (kind === 'delta')
    for (const { table, path } of before!.files) files.set(table, [...(files.get(table) ?? []), path])
  for await (const table of tables) {
    const own = files.get(table.name) ?? []
    const paths = table.partitions
      ? await uploadPartitions(upload, table, { before: own, watermark })
      : await uploadTable(upload, table)
    files.set(table.name, paths)
  }
  return [...files].flatMap(([table, paths]) => paths.map(path => ({ table, path })))
}

/**
 * Replaces the manifest. If the answer is lost, reads the manifest to find out if it was replaced.
 * @throws TARGET_CHANGED
 */
async function commit(
  { target: { place }, objects }: Upload,
  { before, manifest }: { before: Stored | null; manifest: Manifest },
): Promise<void> {
  try {
    await objects.replace(MANIFEST, manifestText(manifest), before?.etag ?? null)
  } catch (cause) {
    const now = await readManifest(objects, place).catch(() => null)
    if (now !== null && isSame(now.watermark, manifest.watermark)) return
    throw isConflict(cause) ? changed(place) : cause
  }
}

async function applyPackage(target: Target, objects: Objects, contents: Package): Promise<void> {
  const { place } = target
  const { base, watermark, erases } = contents
  const before = await readManifest(objects, place)
  expectBase(place, before, base)
  const listed = await objects.list()
  const taken = before === null ? listed.find(({ name }) => isCopy(name)) : undefined
  if (taken !== undefined) throw foreign(place, taken.name)
  const upload: Upload = { target, objects, version: versionId(watermark), uploaded: [] }
  let hasBegunCommit = false
  try {
    const files = await uploadPackage(upload, { before, contents })
    const manifest = { watermark, erases, files }
    // For a server that ignores the condition.
    expectBase(place, await readManifest(objects, place), base)
    hasBegunCommit = true
    await commit(upload, { before, manifest })
    const copies = await readCopies(objects)
    await complete(objects, { manifest, copies, listed, nowMs: Date.now(), hasCommitted: true })
  } catch (error) {
    // A commit whose answer was lost may yet take place: the next publication finds out.
    if (!hasBegunCommit) await objects.remove(upload.uploaded).catch(() => {})
    throw error
  }
}

/** Completes a publication that was killed after its commit, and removes replaced objects after their time. */
async function completeLast(objects: Objects, stored: Stored): Promise<void> {
  const [copies, nowMs] = [await readCopies(objects), Date.now()]
  if (isComplete(stored, copies, nowMs)) return
  await complete(objects, { manifest: stored, copies, listed: await objects.list(), nowMs, hasCommitted: false })
}

/** Reads the sums back from the objects. */
async function sumsOf(
  { database, place, settings }: Target,
  { connection, objects, tables }: { connection: S3Connection; objects: Objects; tables: readonly SummedTable[] },
): Promise<Sums> {
  await loadExtension(database, 'httpfs', settings.extensions)
  await openS3InDuckdb(database, connection)
  const { files } = (await readManifest(objects, place))!
  const sums: Sums = {}
  for (const { name, columns } of tables) {
    const own = files.filter(({ table }) => table === name)
    if (own.length === 0) continue
    const paths = own.map(({ path }) => `s3://${place.bucket}/${place.prefix}${path}`)
    const values = columns.map(({ name: column }) => quoteName(column))
    sums[name] = await sumOf(database, { values, from: `(${rowsOfFiles(paths)})` })
  }
  return sums
}

/** @throws TARGET_UNUSABLE, SECRET_MISSING */
export function openParquetS3(target: Target): OpenTarget {
  const { place } = target
  const connection = connectS3(place)
  const objects = objectsIn(connection)
  const orUnusable = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      await connection.credentials()
      return await work()
    } catch (cause) {
      throw s3Error(connection, cause)
    }
  }
  return {
    watermark: () =>
      orUnusable(async () => {
        const stored = await readManifest(objects, place)
        if (stored) await completeLast(objects, stored)
        return stored?.watermark ?? null
      }),
    apply: contents => orUnusable(() => applyPackage(target, objects, contents)),
    sums: tables => orUnusable(() => sumsOf(target, { connection, objects, tables })),
  }
}

/**
 * Tests the place, and whether the server knows conditional writes. @returns what was found, for people
 * @throws TARGET_UNUSABLE, SECRET_MISSING
 */
export async function probeParquetS3(place: S3Place): Promise<string> {
  let isConditional = true
  const server = await probing(place, async (objects, name) => {
    await readManifest(objects, place)
    await objects.replace(name, 'probe', null)
    isConditional = await objects.replace(name, 'probe', null).then(
      () => false,
      cause => isConflict(cause) || Promise.reject(cause),
    )
    await objects.copy(name, `${name}-copy`)
  })
  return `${server}${isConditional ? '' : ', which ignores If-None-Match: let no two machines publish to it'}`
}
