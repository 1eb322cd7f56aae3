// The versions of a target `parquet`. A version is a folder with all files of one state; unchanged files are hard links to those of the
// version before. Readers go through the symbolic link `current`, which `rename` replaces:
//
//   current -> versions/20261123T131500123Z-1a2b3c4d
//   versions/20261123T131500123Z-1a2b3c4d/_publication.json     the watermark, and the version before
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

/** Readers of all files below a folder pass over names with an underscore. */
export const WATERMARK_FILE = '_publication.json'

/** Readers that began with a version have this long to finish. */
const KEPT_MS = HOUR

const VERSION_NAME = /^\d{8}T\d{9}Z-[0-9a-f]{8}$/

export interface Version {
  id: string
  /** Null: its file is missing or damaged, so the target must be filled. */
  watermark: TargetWatermark | null
  /** The version before; null: there is none that may be kept. */
  previous: string | null
}

export const versionFolder = (path: string, id: string): string => join(path, VERSIONS, id)

/** Sorts by time. */
export const versionId = ({ asOf, publicationId }: TargetWatermark): string =>
  `${asOf.replaceAll(/[-:.]/g, '')}-${publicationId.slice(0, 8)}`

const foreign = (link: string): ConvohouseError =>
  new ConvohouseError('TARGET_UNUSABLE', {
    what: `${link} was not created by a publication, so it is not replaced.`,
    hint: 'Move it away, or give the target another path.',
  })

export const watermarkText = (watermark: TargetWatermark, previous: string | null): string =>
  `${JSON.stringify({ ...watermarkFields(watermark), previous }, null, 2)}\n`

function parsedVersion(text: string): Omit<Version, 'id'> {
  try {
    const { previous, ...fields } = JSON.parse(text)
    const watermark = watermarkOf(fields)
    const isKept = watermark !== null && typeof previous === 'string' && VERSION_NAME.test(previous)
    return { watermark, previous: isKept ? previous : null }
  } catch {
    return { watermark: null, previous: null }
  }
}

async function readVersion(path: string, id: string): Promise<Version> {
  const text = await readFile(join(versionFolder(path, id), WATERMARK_FILE), 'utf8').catch(cause => {
    if (hasCode(cause, 'ENOENT')) return ''
    throw cause
  })
  return { id, ...parsedVersion(text) }
}

/** The id of the version that a symbolic link leads to; null: there is no such file. @throws TARGET_UNUSABLE if it is not ours */
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

/** The version that readers see; null: none yet. @throws TARGET_UNUSABLE if `current` is not ours */
export async function currentVersion(path: string): Promise<Version | null> {
  const id = await linkedVersion(join(path, LINK))
  return id === null ? null : readVersion(path, id)
}

const temporaryLink = (path: string): string => join(path, `${LINK}.next`)

/** Makes the version the current one. */
export async function switchTo(path: string, id: string): Promise<void> {
  await symlink(join(VERSIONS, id), temporaryLink(path))
  await rename(temporaryLink(path), join(path, LINK))
  await syncFolder(path)
}

/** Returns when a version was published; null: it no longer exists. */
async function publishedMs(path: string, id: string): Promise<number | null> {
  const found = await stat(join(versionFolder(path, id), WATERMARK_FILE)).catch(() => null)
  return found?.mtimeMs ?? null
}

/** Returns the versions to keep: the current one, the one before, and those that were current less than an hour ago. */
async function keptVersions(path: string, current: Version | null): Promise<string[]> {
  const kept: string[] = []
  let version = current
  /** When the version was replaced by its successor. */
  let replacedMs = Number.POSITIVE_INFINITY
  while (version && (kept.length < 2 || replacedMs > Date.now() - KEPT_MS)) {
    const publishedAtMs = await publishedMs(path, version.id)
    if (publishedAtMs === null) break
    kept.push(version.id)
    replacedMs = publishedAtMs
    version = version.previous === null ? null : await readVersion(path, version.previous)
  }
  return kept
}

/** Removes older versions, and what killed publications left. @throws TARGET_UNUSABLE if a link is not ours */
export async function removeOldVersions(path: string): Promise<void> {
  if ((await linkedVersion(temporaryLink(path))) !== null) await rm(temporaryLink(path))
  const current = await currentVersion(path)
  const kept = [...(await keptVersions(path, current)), ...(current ? [current.id] : [])]
  const names = await namesIn(join(path, VERSIONS))
  for (const name of names.filter(name => VERSION_NAME.test(name) && !kept.includes(name)))
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
