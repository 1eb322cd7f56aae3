// Completes a publication to S3 after its commit: brings the copies under stable names up to date, and removes objects that no state needs any
// more. `_copies.json` says when that was complete. The next publication completes one that was killed in between.
import { z } from 'zod'
import { HOUR } from '../../../core/time.ts'
import { severally } from '../../../files/severally.ts'
import type { Objects, StoredObject } from '../../s3/objects.ts'
import { copyName, isCopy, isObject, type Manifest } from './manifest.ts'

export const COPIES = '_copies.json'

/** Readers that began with a manifest have this long to finish. No publication takes that long. */
const KEPT_MS = HOUR

/** The objects of an earlier state, which readers of its manifest still need. */
interface Kept {
  path: string
  /** When it was replaced. */
  replacedMs: number
}

/** The state of the copies. */
export interface Copies {
  /** The publication whose copies and removals are complete. */
  publicationId: string
  /** The object of each copy, by the name of the copy, and the ETag that the copy got. */
  of: Readonly<Record<string, readonly [path: string, etag: string]>>
  kept: readonly Kept[]
}

export const NO_COPIES: Copies = { publicationId: '', of: {}, kept: [] }

const copiesFile = z.object({
  publication_id: z.string(),
  of: z.record(z.string(), z.tuple([z.string(), z.string()])),
  kept: z.array(z.object({ path: z.string(), replacedMs: z.number() })),
})

/** Reads the file; a damaged one counts as missing. */
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
  /** This process has just committed the manifest: no other publication can commit the objects it has uploaded. */
  hasCommitted: boolean
}

/** Plans the completion of a manifest. A copy that something else has overwritten is made again. */
export function completionPlan({ manifest, copies, listed, nowMs, hasCommitted }: Completion): CompletionPlan {
  const etags = new Map(listed.map(({ name, etag }) => [name, etag]))
  const paths = new Set(manifest.files.map(({ path }) => path))
  const names = new Set(manifest.files.map(({ path }) => copyName(path)))
  const isComplete = copies.publicationId === manifest.watermark?.publicationId
  const replaced = Object.values(copies.of).flatMap(([path]) => (paths.has(path) ? [] : [{ path, replacedMs: nowMs }]))
  const kept =
    manifest.erases && !isComplete
      ? []
      : [...copies.kept, ...replaced].filter(({ path, replacedMs }) => replacedMs > nowMs - KEPT_MS && !paths.has(path))
  const keptPaths = new Set(kept.map(({ path }) => path))
  const known = new Set([...copies.kept.map(({ path }) => path), ...Object.values(copies.of).map(([path]) => path)])
  // An object that no state knows was left by a killed publication, or belongs to one that has not committed yet.
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

/** True if the completion of the manifest has nothing to do now. */
export const isComplete = ({ watermark }: Manifest, copies: Copies, nowMs: number): boolean =>
  copies.publicationId === watermark?.publicationId &&
  copies.kept.every(({ replacedMs }) => replacedMs > nowMs - KEPT_MS)

export async function readCopies(objects: Objects): Promise<Copies> {
  const found = await objects.get(COPIES)
  return found === null ? NO_COPIES : parseCopies(found.text)
}

/** Brings the copies up to date, and removes what is not needed. */
export async function complete(objects: Objects, completion: Completion): Promise<void> {
  const { manifest, copies } = completion
  if (manifest.watermark === null) return
  const { copy, remove, kept } = completionPlan(completion)
  const names = new Set(manifest.files.map(({ path }) => copyName(path)))
  const of = Object.fromEntries(Object.entries(copies.of).filter(([name]) => names.has(name)))
  await severally(copy, async ({ from, to }) => {
    of[to] = [from, await objects.copy(from, to)]
  })
  await objects.remove(remove)
  await objects.put(COPIES, copiesText({ publicationId: manifest.watermark.publicationId, of, kept }))
}
