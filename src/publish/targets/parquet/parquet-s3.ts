// The target `parquet` in S3. A publication uploads the changed partitions as new objects while the package is written, and
// then replaces the manifest in one conditional request (`manifest.ts`). The copies for readers without the manifest follow.
//
// There is no lock. The owner's data folder runs one publication at a time; if two run nevertheless, the one that replaces
// the manifest second fails. A late request of a killed process therefore cannot undo a later state.
import { stat } from 'node:fs/promises'
import { type S3Place, s3Text } from '../../../config/s3.ts'
import { ConvohouseError } from '../../../core/errors.ts'
import { severally } from '../../../files/severally.ts'
import type { Package, Sums } from '../../package.ts'
import { connectS3, isConflict, openS3InDuckdb, type S3Connection, s3Error } from '../../s3/client.ts'
import { type Objects, objectsIn, probing } from '../../s3/objects.ts'
import { loadExtension, type TargetDatabase } from '../../target-database.ts'
import type { OpenTarget, SummedTable, TargetSettings } from '../../target-port.ts'
import { changedByOwner, changedTarget, expectBase, isSame } from '../../watermark.ts'
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
import { versionId } from './parquet-versions.ts'
import { type FileStore, sumsOfFiles, tableOf, writeTables } from './table-files.ts'

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

/** Copies are made after the first manifest, so an earlier object of that name belongs to another program. */
const foreign = (place: S3Place, name: string): ConvohouseError =>
  new ConvohouseError('TARGET_UNUSABLE', {
    what: `${s3Text(place)} has no manifest, but an object ${name}, which a publication would overwrite.`,
    hint: `Move the object away, or give the target a prefix of its own. If ${MANIFEST} was deleted by mistake, delete all objects of the target.`,
  })

/** A publication whose objects are being uploaded. */
interface Upload {
  objects: Objects
  /** All objects of the new state. */
  files: ManifestFile[]
  uploaded: string[]
}

/** Uploads a package's files unchanged, because rewriting them takes as long as the package. */
const storeOf = (
  { objects, files, uploaded }: Upload,
  { version, before }: { version: string; before: readonly ManifestFile[] },
): FileStore => ({
  async keep({ path }) {
    files.push(before.find(file => file.path === path)!)
  },
  async add(folder, parts, isEmpty) {
    const named = parts.map((file, part) => ({
      file,
      path: objectPath({ folder, part: isEmpty ? 'empty' : part }, version),
    }))
    const sizes = new Map<string, number>()
    await severally(named, async ({ file, path }) => {
      uploaded.push(path)
      await objects.upload(path, file)
      sizes.set(path, (await stat(file)).size)
    })
    files.push(...named.map(({ path }) => ({ table: tableOf(folder), path, bytes: sizes.get(path)! })))
  },
})

/**
 * Replaces the manifest. If the answer is lost, reads the manifest to find out whether it was replaced.
 * @throws TARGET_CHANGED
 */
async function commit(
  objects: Objects,
  { place, before, manifest }: { place: S3Place; before: Stored | null; manifest: Manifest },
): Promise<void> {
  try {
    await objects.replace(MANIFEST, manifestText(manifest), before?.etag ?? null)
  } catch (cause) {
    const now = await readManifest(objects, place).catch(() => null)
    if (now !== null && isSame(now.watermark, manifest.watermark)) return
    throw isConflict(cause) ? changedTarget(s3Text(place)) : cause
  }
}

async function applyPackage(target: Target, objects: Objects, contents: Package): Promise<void> {
  const { database, place, settings } = target
  const { kind, base, watermark, erases } = contents
  const before = await readManifest(objects, place)
  expectBase(s3Text(place), before?.watermark ?? null, base)
  const listed = await objects.list()
  const taken = before === null ? listed.find(({ name }) => isCopy(name)) : undefined
  if (taken !== undefined) throw foreign(place, taken.name)
  const upload: Upload = { objects, files: [], uploaded: [] }
  let hasBegunCommit = false
  try {
    const kept = kind === 'delta' ? before!.files : []
    const sizes = new Map(listed.map(({ name, bytes }) => [name, bytes]))
    const changed = kept.find(({ path, bytes }) => sizes.get(path) !== bytes)
    if (changed)
      throw changedByOwner(`${s3Text(place)}/${changed.path} is not as it was published.`, settings.target.name)
    const earlier = kept.map(({ path }) => ({ path, folder: folderOf(path), isEmpty: isEmptyFile(path) }))
    const store = storeOf(upload, { version: versionId(watermark), before: kept })
    await writeTables({ database, store, spillFolder: settings.spillFolder }, earlier, contents)
    const manifest = { watermark, erases, files: upload.files }
    // Some servers ignore the condition.
    expectBase(s3Text(place), (await readManifest(objects, place))?.watermark ?? null, base)
    hasBegunCommit = true
    await commit(objects, { place, before, manifest })
    const copies = await readCopies(objects)
    await complete(objects, { manifest, copies, listed, nowMs: Date.now(), hasCommitted: true })
  } catch (error) {
    // A commit whose answer was lost may still succeed; the next publication finds out.
    if (!hasBegunCommit) await objects.remove(upload.uploaded).catch(() => {})
    throw error
  }
}

/** Completes a publication that was killed after its commit, and removes expired objects. */
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
  const files = new Map<string, string[]>()
  for (const { table, path } of (await readManifest(objects, place))!.files)
    files.set(table, [...(files.get(table) ?? []), `s3://${place.bucket}/${place.prefix}${path}`])
  return sumsOfFiles(database, tables, files)
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
 * Tests the place, and whether the server supports conditional writes. @returns its findings, for people
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
