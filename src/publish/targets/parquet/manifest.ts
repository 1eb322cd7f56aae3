// The manifest of a target in S3: which objects make up its current state, and the watermark. It is the commit point of a publication, replaced
// in one conditional request. The objects it names are never changed:
//
//   _manifest.json
//   _objects/conversations/month=2026-11/20261123T131500123Z-1a2b3c4d.parquet
//
// For readers without the manifest, each object has a copy under a name that stays:
//
//   conversations/month=2026-11/data.parquet
import { ConvohouseError } from '../../../core/errors.ts'
import { type TargetWatermark, watermarkFields, watermarkOf } from '../../watermark.ts'

export const MANIFEST = '_manifest.json'
const OBJECTS = '_objects/'

/** Tells a manifest from any other file of its name. */
const FORMAT = 'convohouse-parquet-1'

export interface ManifestFile {
  /** `conversations`, `marts.fct_conversations` */
  table: string
  /** The object, relative to the prefix. */
  path: string
}

export interface Manifest {
  /** Null: a member is missing or of another type, so the target must be filled. */
  watermark: TargetWatermark | null
  /** Earlier objects may contain what is not to be published any more. */
  erases: boolean
  files: readonly ManifestFile[]
}

/** `part`: a number from 0, or `empty` for the file without rows of a partitioned table. */
export interface ObjectPlace {
  /** `conversations/month=2026-11` */
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

/** The folder of the object; `conversations/month=2026-11`. */
export const folderOf = (path: string): string => OBJECT.exec(path)![1]!

export const isEmptyFile = (path: string): boolean => OBJECT.exec(path)?.[2] === 'empty'

/** The name of the object's copy. */
export function copyName(path: string): string {
  const [, folder, part] = OBJECT.exec(path)!
  return `${folder}/${part === 'empty' ? part : part === undefined ? 'data' : `data-${part}`}.parquet`
}

/** Names of tables, and of partitions as Hive writes them: `marts/fct_conversations/month=2026-11/data.parquet`. */
const COPY = /^(?!_)[a-z0-9_]+(?:\/[a-z0-9_]+)?(?:\/(?:agent|month)=[^/]+)*\/(?:data(?:-\d+)?|empty)\.parquet$/

/** True for a name that copies have. */
export const isCopy = (name: string): boolean => COPY.test(name)

export const manifestText = (watermark: TargetWatermark, { erases, files }: Omit<Manifest, 'watermark'>): string =>
  `${JSON.stringify({ format: FORMAT, ...watermarkFields(watermark), erases, files }, null, 1)}\n`

/** @throws TARGET_UNUSABLE if no publication wrote it */
export function parseManifest(text: string, place: string): Manifest {
  try {
    const value = JSON.parse(text)
    if (value.format === FORMAT) {
      const files = value.files as ManifestFile[]
      if (Array.isArray(files) && files.every(({ table, path }) => typeof table === 'string' && isObject(path)))
        return { watermark: watermarkOf(value), erases: value.erases === true, files }
      return { watermark: null, erases: true, files: [] }
    }
  } catch {}
  throw new ConvohouseError('TARGET_UNUSABLE', {
    what: `${place}/${MANIFEST} was not written by a publication of this version, so it is not replaced.`,
    hint: 'Move it away, or give the target another prefix.',
  })
}
