// The versions of a target `parquet`. A version is a folder with all files of one state; unchanged files are hard links
// to those of the previous version. Readers use the symbolic link `current`, which `rename` replaces:
//
//   current -> versions/20261123T131500123Z-1a2b3c4d
//   versions/20261123T131500123Z-1a2b3c4d/_publication.json the watermark
//                                        /conversations/month=2026-11/data.parquet
import { chmod, readFile, readlink, rename, rm, stat, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { hasCode } from '../../../core/disk.ts'
import { ConvohouseError } from '../../../core/errors.ts'
import { HOUR } from '../../../core/time.ts'
import { makeFolder, namesIn, syncFolder } from '../../../files/durable.ts'
import { type TargetWatermark, watermarkFields, watermarkOf } from '../../watermark.ts'

const LINK = 'current'
const VERSIONS = 'versions'

/** Readers of all files below a folder skip names that begin with an underscore. */
export const WATERMARK_FILE = '_publication.json'

/** Time that readers of an earlier version have to finish. */
const KEPT_MS = HOUR

const VERSION_NAME = /^\d{8}T\d{9}Z-[0-9a-f]{8}$/

/** Sizes in bytes, by path relative to the version. */
export type FileSizes = Readonly<Record<string, number>>

export interface Version {
  id: string
  watermark: TargetWatermark
  /** The files that the publication wrote or linked. */
  files: FileSizes
  /** True if earlier versions may contain values that must no longer be published. */
  erases: boolean
}

export const versionFolder = (path: string, id: string): string => join(path, VERSIONS, id)

/** Returns an id that sorts by time. */
export const versionId = ({ asOf, publicationId }: TargetWatermark): string =>
  `${asOf.replaceAll(/[-:.]/g, '')}-${publicationId.slice(0, 8)}`

const foreign = (link: string): ConvohouseError =>
  new ConvohouseError('TARGET_UNUSABLE', {
    what: `${link} was not created by a publication, so it is not replaced.`,
    hint: 'Move it away, or give the target another path.',
  })

export const watermarkText = ({ watermark, erases, files }: Omit<Version, 'id'>): string =>
  `${JSON.stringify({ ...watermarkFields(watermark), erases, files }, null, 2)}\n`

/** Returns the id of the version that a symbolic link leads to; null if there is no link. @throws TARGET_UNUSABLE if it is not ours */
async function linkedVersion(link: string): Promise<string | null> {
  const text = await readlink(link).catch(cause => {
    if (hasCode(cause, 'ENOENT')) return null
    if (hasCode(cause, 'EINVAL') || hasCode(cause, 'ENOTDIR')) throw foreign(link)
    throw cause
  })
  if (text === null) return null
  const [folder, id = '', ...rest] = text.split('/')
  if (folder !== VERSIONS || !VERSION_NAME.test(id) || rest.length > 0) throw foreign(link)
  return id
}

/**
 * Returns the version that readers see; null for none, and for one whose watermark is damaged if it `isReplaced`.
 * @throws TARGET_UNUSABLE if `current` is not ours, or its watermark is damaged
 */
export async function currentVersion(path: string, isReplaced = false): Promise<Version | null> {
  const link = join(path, LINK)
  const id = await linkedVersion(link)
  if (id === null) return null
  try {
    const fields = JSON.parse(await readFile(join(versionFolder(path, id), WATERMARK_FILE), 'utf8'))
    const watermark = watermarkOf(fields)
    if (watermark !== null && fields.files)
      return { id, watermark, erases: fields.erases !== false, files: fields.files }
  } catch (cause) {
    if (!(cause instanceof SyntaxError) && !hasCode(cause, 'ENOENT')) throw cause
  }
  if (isReplaced) return null
  throw new ConvohouseError('TARGET_UNUSABLE', {
    what: `${link} leads to a version whose ${WATERMARK_FILE} is damaged.`,
    hint: 'Run `convohouse publish TARGET --refill`, which replaces it.',
  })
}

const temporaryLink = (path: string): string => join(path, `${LINK}.next`)

/** Makes the version the current one. */
export async function switchTo(path: string, id: string): Promise<void> {
  await symlink(join(VERSIONS, id), temporaryLink(path))
  await rename(temporaryLink(path), join(path, LINK))
  await syncFolder(path)
}

/** Returns the versions to keep: the current one, the previous one, and those that were current within the last hour. */
async function keptVersions(path: string, { id, erases }: Version, names: readonly string[]): Promise<string[]> {
  const kept = [id]
  if (erases) return kept
  const earlier = names.filter(name => name < id).sort()
  for (const name of earlier.toReversed()) {
    const { mtimeMs: replacedMs } = await stat(join(versionFolder(path, kept.at(-1)!), WATERMARK_FILE))
    if (kept.length > 1 && replacedMs <= Date.now() - KEPT_MS) break
    kept.push(name)
  }
  return kept
}

/** Removes older versions and leftovers of killed publications. @throws TARGET_UNUSABLE if a link is not ours */
export async function removeOldVersions(path: string, isReplaced = false): Promise<void> {
  if ((await linkedVersion(temporaryLink(path))) !== null) await rm(temporaryLink(path))
  const current = await currentVersion(path, isReplaced)
  // Until a refill has replaced it, readers may still use the files of a version whose watermark is damaged.
  if (current === null && isReplaced) return
  const names = (await namesIn(join(path, VERSIONS))).filter(name => VERSION_NAME.test(name))
  const kept = current === null ? [] : await keptVersions(path, current, names)
  for (const name of names.filter(name => !kept.includes(name)))
    await rm(versionFolder(path, name), { recursive: true, force: true })
}

/** Creates the folder of a new version. */
export async function createVersion(path: string, id: string, mode: number): Promise<string> {
  const folder = versionFolder(path, id)
  await makeFolder(folder)
  for (const created of [dirname(folder), folder]) await chmod(created, mode)
  return folder
}

/** Makes the name of a new version durable. */
export const syncVersions = (path: string): Promise<void> => syncFolder(join(path, VERSIONS))
