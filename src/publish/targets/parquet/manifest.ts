// The manifest of a target in S3 lists the objects of its current state, with the watermark. It is the commit point of
// a publication, which replaces it in one conditional request. The listed objects never change:
//
//   _manifest.json
//   _objects/conversations/month=2026-11/20261123T131500123Z-1a2b3c4d.parquet
//
// For readers without the manifest, each object has a copy with a stable name:
//
//   conversations/month=2026-11/data.parquet
//
// After the commit, a publication updates the copies and removes objects that no state needs. `_copies.json` says when
// that was complete. If the publication is killed in between, the next one completes it.
import { z } from 'zod'
import { ConvohouseError } from '../../../core/errors.ts'
import { HOUR } from '../../../core/time.ts'
import { severally } from '../../../files/severally.ts'
import type { Objects, StoredObject } from '../../s3/objects.ts'
import { type TargetWatermark, watermarkFields, watermarkOf } from '../../watermark.ts'

export const MANIFEST = '_manifest.json'
const COPIES = '_copies.json'
const OBJECTS = '_objects/'

/** Identifies a manifest among other files of its name. */
const FORMAT = 'convohouse-parquet-1'

export interface ManifestFile {
  /** Name of the table, such as `conversations` or `marts.fct_conversations`. */
  table: string
  /** Name of the object, relative to the prefix. */
  path: string
  bytes: number
}

export interface Manifest {
  watermark: TargetWatermark
  /** True if earlier objects may contain values that must no longer be published. */
  erases: boolean
  files: readonly ManifestFile[]
}

/** Place of an object. `part` is a number from 0, or `empty` for the file without rows of a partitioned table. */
export interface ObjectPlace {
  /** Example: `conversations/month=2026-11`. */
  folder: string
  part: number | 'empty'
}

export function objectPath({ folder, part }: ObjectPlace, versionId: string): string {
  const suffix = part === 0 ? '' : `-${part === 'empty' ? part : part + 1}`
  return `${OBJECTS}${folder}/${versionId}${suffix}.parquet`
}

const OBJECT = /^_objects\/(.+)\/\d{8}T\d{9}Z-[0-9a-f]{8}(?:-(empty|\d+))?\.parquet$/

/** True for a name that only publications create. */
export const isObject = (name: string): boolean => OBJECT.test(name)

/** Returns the folder of the object, such as `conversations/month=2026-11`. */
export const folderOf = (path: string): string => OBJECT.exec(path)![1]!

export const isEmptyFile = (path: string): boolean => OBJECT.exec(path)?.[2] === 'empty'

/** Returns the name of the object's copy. */
export function copyName(path: string): string {
  const [, folder, part] = OBJECT.exec(path)!
  return `${folder}/${part === 'empty' ? part : part === undefined ? 'data' : `data-${part}`}.parquet`
}

/** Matches names of tables, with partitions as Hive writes them: `marts/fct_conversations/month=2026-11/data.parquet`. */
const COPY = /^(?!_)[a-z0-9_]+(?:\/[a-z0-9_]+)?(?:\/(?:agent|month)=[^/]+)*\/(?:data(?:-\d+)?|empty)\.parquet$/

/** True for the name of a copy. */
export const isCopy = (name: string): boolean => COPY.test(name)

export const manifestText = ({ watermark, erases, files }: Manifest): string =>
  `${JSON.stringify({ format: FORMAT, ...watermarkFields(watermark), erases, files }, null, 1)}\n`

/** @throws TARGET_UNUSABLE if no publication wrote the manifest, or it is damaged */
export function parseManifest(text: string, place: string): Manifest {
  try {
    const value = JSON.parse(text)
    const watermark = watermarkOf(value)
    const files = value.files as ManifestFile[]
    const areOurs = files.every(
      ({ table, path, bytes }) => typeof table === 'string' && isObject(path) && typeof bytes === 'number',
    )
    if (value.format === FORMAT && watermark !== null && areOurs)
      return { watermark, erases: value.erases !== false, files }
  } catch {}
  throw new ConvohouseError('TARGET_UNUSABLE', {
    what: `${place}/${MANIFEST} was not written by a publication of this version, so it is not replaced.`,
    hint: 'Give the target another prefix. If only convohouse writes there, delete all its objects: the next publication writes them again.',
  })
}

/** Time that readers of an earlier manifest have to finish. No publication takes that long. */
const KEPT_MS = HOUR

/** An object of an earlier state that readers of its manifest still need. */
interface Kept {
  path: string
  /** Time when it was replaced. */
  replacedMs: number
}

/** The state of the copies. */
export interface Copies {
  /** The publication whose copies and removals are complete. */
  publicationId: string
  /** Object and ETag of each copy, by the name of the copy. */
  of: Readonly<Record<string, readonly [path: string, etag: string]>>
  kept: readonly Kept[]
}

export const NO_COPIES: Copies = { publicationId: '', of: {}, kept: [] }

const copiesFile = z.object({
  publication_id: z.string(),
  of: z.record(z.string(), z.tuple([z.string(), z.string()])),
  kept: z.array(z.object({ path: z.string(), replacedMs: z.number() })),
})

/** Parses the file; a damaged one counts as missing. */
export function parseCopies(text: string): Copies {
  try {
    const { publication_id: publicationId, of, kept } = copiesFile.parse(JSON.parse(text))
    return { publicationId, of, kept }
  } catch {
    return NO_COPIES
  }
}

const copiesText = ({ publicationId: publication_id, of, kept }: Copies): string =>
  `${JSON.stringify({ publication_id, of, kept }, null, 1)}\n`

export interface CompletionPlan {
  /** Copies to make: the object, and the name of its copy. */
  copy: { from: string; to: string }[]
  remove: string[]
  kept: Kept[]
}

interface Completion {
  manifest: Manifest
  copies: Copies
  listed: readonly StoredObject[]
  nowMs: number
  /** True if this process has just committed the manifest, so no other publication can commit its uploaded objects. */
  hasCommitted: boolean
}

/** Plans the completion of a manifest. Copies that another program has overwritten are made again. */
export function completionPlan({ manifest, copies, listed, nowMs, hasCommitted }: Completion): CompletionPlan {
  const etags = new Map(listed.map(({ name, etag }) => [name, etag]))
  const paths = new Set(manifest.files.map(({ path }) => path))
  const names = new Set(manifest.files.map(({ path }) => copyName(path)))
  const isComplete = copies.publicationId === manifest.watermark.publicationId
  const replaced = Object.values(copies.of).flatMap(([path]) => (paths.has(path) ? [] : [{ path, replacedMs: nowMs }]))
  const kept =
    manifest.erases && !isComplete
      ? []
      : [...copies.kept, ...replaced].filter(({ path, replacedMs }) => replacedMs > nowMs - KEPT_MS && !paths.has(path))
  const keptPaths = new Set(kept.map(({ path }) => path))
  const known = new Set([...copies.kept.map(({ path }) => path), ...Object.values(copies.of).map(([path]) => path)])
  // An unknown object was left by a killed publication, or belongs to one that has not committed yet.
  const isLeft = ({ name, modifiedMs }: StoredObject) => known.has(name) || hasCommitted || modifiedMs < nowMs - KEPT_MS
  const isUnneeded = (object: StoredObject) =>
    isObject(object.name)
      ? !paths.has(object.name) && !keptPaths.has(object.name) && isLeft(object)
      : isCopy(object.name) && !names.has(object.name)
  return {
    copy: [...paths].flatMap(from => {
      const to = copyName(from)
      const [path, etag] = copies.of[to] ?? []
      return path === from && etag === etags.get(to) ? [] : [{ from, to }]
    }),
    remove: listed.filter(isUnneeded).map(({ name }) => name),
    kept,
  }
}

/** True if the manifest's copies are complete and no kept object has expired. */
export const isComplete = ({ watermark }: Manifest, copies: Copies, nowMs: number): boolean =>
  copies.publicationId === watermark.publicationId &&
  copies.kept.every(({ replacedMs }) => replacedMs > nowMs - KEPT_MS)

export async function readCopies(objects: Objects): Promise<Copies> {
  const found = await objects.get(COPIES)
  return found === null ? NO_COPIES : parseCopies(found.text)
}

/** Updates the copies and removes objects that are no longer needed. */
export async function complete(objects: Objects, completion: Completion): Promise<void> {
  const { manifest, copies } = completion
  const { copy, remove, kept } = completionPlan(completion)
  const names = new Set(manifest.files.map(({ path }) => copyName(path)))
  const of = Object.fromEntries(Object.entries(copies.of).filter(([name]) => names.has(name)))
  await severally(copy, async ({ from, to }) => {
    of[to] = [from, await objects.copy(from, to)]
  })
  await objects.remove(remove)
  const { publicationId } = manifest.watermark
  if (manifest.erases && copies.publicationId !== publicationId) {
    // It is not complete yet: if the server refuses to remove versions of objects, the next publication tries again.
    const isVersioned = await objects.put(COPIES, copiesText({ publicationId: '', of, kept }))
    if (isVersioned) await objects.removeVersions()
  }
  await objects.put(COPIES, copiesText({ publicationId, of, kept }))
}
