// Checks the places of targets: that their folders can be written and have space, and that PostgreSQL, S3 and lakes can be reached and written.
import { dirname } from 'node:path'
import {
  isRemote,
  type LakeTarget,
  type PostgresTarget,
  placeOf,
  type S3Target,
  type SearchLanguage,
  type SnapshotTarget,
  type TargetConfig,
} from '../../config/targets.ts'
import type { Config } from '../../config.ts'
import { ConvohouseError, isCode } from '../../core/errors.ts'
import { formatDuration, MINUTE } from '../../core/time.ts'
import { bytes } from '../../core/words.ts'
import { destinationOf } from '../../files/destination.ts'
import { fileBytes } from '../../files/stored-bytes.ts'
import { extensionPlaces } from '../../publish/extension.ts'
import { probeTarget } from '../../publish/target-client.ts'
import { temporaryFolder } from '../../warehouse/temporary-files.ts'
import { expectWritable, LITTLE_BYTES, nearest, TOO_LITTLE_BYTES, volumeOf } from './disk.ts'
import { type Finding, fail, ok, type Subject, skip, warn } from './findings.ts'

/** Finding out that a server does not answer takes 15 seconds; downloading the extension takes longer. */
const PROBE_MS = 2 * MINUTE

type SearchedSnapshot = SnapshotTarget & { search: SearchLanguage }

/** A target that a process of its own has to try: on a server, or with an extension of DuckDB. */
type ProbedTarget = PostgresTarget | S3Target | LakeTarget | SearchedSnapshot

const isProbed = (target: TargetConfig): target is ProbedTarget =>
  isRemote(target) || target.type === 'ducklake' || (target.type === 'snapshot' && target.search !== undefined)

type FileTarget = Exclude<TargetConfig, PostgresTarget>

const unusable = (what: string, hint: string, cause?: unknown): ConvohouseError =>
  new ConvohouseError('TARGET_UNUSABLE', { what, hint, cause })

interface Space {
  folder: string
  freeBytes: number
  /** The published file, of which a publication writes a second one; 0 of a folder of files. */
  publishedBytes: number
}

/** The finding about free space; none if there is enough. */
export function spaceFindings(subject: Subject, name: string, space: Space): Finding[] {
  const { folder, freeBytes, publishedBytes } = space
  const found = `${name}: ${bytes(freeBytes)} free on the file system of ${folder}`
  const second = `, and a publication writes a second file of ${bytes(publishedBytes)} before it replaces the first`
  const hint = 'Free space there, or give the target a path on another disk.'
  if (freeBytes < TOO_LITTLE_BYTES) return [fail(subject, unusable(`${found}.`, hint))]
  if (freeBytes < publishedBytes) return [warn(subject, `${found}${second}`, hint)]
  return freeBytes < LITTLE_BYTES ? [warn(subject, found, hint)] : []
}

interface WrittenFolder {
  folder: string
  publishedBytes: number
}

/** The folders that publications write into. @throws an error that says what is wrong with a path */
async function foldersOf(target: FileTarget): Promise<WrittenFolder[]> {
  switch (target.type) {
    case 'snapshot': {
      const file = await destinationOf(target.path)
      return [{ folder: dirname(file), publishedBytes: await fileBytes(file) }]
    }
    case 'parquet':
      return [{ folder: await destinationOf(target.path), publishedBytes: 0 }]
    case 'ducklake': {
      const { catalog, data, s3 } = target
      const folders = [...(s3 === null ? [data] : []), ...(catalog.type === 'postgres' ? [] : [dirname(catalog.path)])]
      return folders.map(folder => ({ folder, publishedBytes: 0 }))
    }
  }
}

async function fileFindings(subject: Subject, target: FileTarget): Promise<Finding[]> {
  const { name } = target
  try {
    const found: Finding[] = []
    for (const { folder, publishedBytes } of await foldersOf(target)) {
      await expectWritable(folder)
      const { freeBytes } = await volumeOf(await nearest(folder))
      found.push(...spaceFindings(subject, name, { folder, freeBytes, publishedBytes }))
    }
    return found
  } catch (cause) {
    const hint = 'Make the folder of the target writable, or give the target another path.'
    return [fail(subject, unusable(`${name}: ${(cause as Error).message}`, hint, cause))]
  }
}

const CHECK_SERVER = {
  postgres: 'Check that PostgreSQL runs, and `host` and `port`.',
  parquet: 'Check that the server runs, and `endpoint` in `s3` of the target.',
  ducklake:
    'Check that the servers of its catalog and data run, and `host` and `port` of `catalog`, or `endpoint` in `s3`.',
  snapshot: 'Check the access to the network, or put the extension fts into the folder `extensions`.',
}

/** Tries the target from a process of its own, as a publication does. */
async function probeFinding(
  subject: Subject,
  target: ProbedTarget,
  { config, entry }: { config: Config; entry: URL | undefined },
): Promise<Finding> {
  const { home, threads, publish, extensions } = config
  const limit = new AbortController()
  const timer = setTimeout(
    () =>
      limit.abort(
        unusable(`${placeOf(target)} did not answer within ${formatDuration(PROBE_MS)}.`, CHECK_SERVER[target.type]),
      ),
    PROBE_MS,
  )
  const places = extensionPlaces(home, extensions)
  const limits = { memoryLimit: publish.memoryLimit, threads, spillFolder: temporaryFolder(home) }
  try {
    const found = await probeTarget({ target, extensions: places, ...limits }, { signal: limit.signal, entry })
    const place = target.type === 'ducklake' ? target.catalog : target
    const role = 'connection' in place ? ` as ${place.connection.user}` : ''
    return ok(subject, `${target.name}: ${placeOf(target)} can be written${role} (${found})`)
  } catch (cause) {
    const { code, message, hint } = isCode(cause, 'PUBLICATION_FAILED')
      ? unusable(cause.message, 'Run `convohouse publish` for the reason.')
      : (cause as ConvohouseError)
    return fail(subject, new ConvohouseError(code, { what: `${target.name}: ${message}`, ...(hint && { hint }) }))
  } finally {
    clearTimeout(timer)
  }
}

export interface PlaceOptions {
  config: Config
  target: TargetConfig
  /** Makes no connection. */
  offline: boolean
  /** The program of the target's process. */
  entry?: URL
}

/** Findings about the place of a target: what is wrong with its folder, or whether its server and its extension can be used. */
export async function placeFindings(
  subject: Subject,
  { config, target, offline, entry }: PlaceOptions,
): Promise<Finding[]> {
  const found = isRemote(target) ? [] : await fileFindings(subject, target)
  if (!isProbed(target)) return found
  if (found.some(({ state }) => state === 'fail')) return found
  const unchecked = target.type === 'snapshot' ? 'extension fts' : 'connection'
  if (offline) return [...found, skip(subject, `${target.name}: ${unchecked} not checked (--offline)`)]
  return [...found, await probeFinding(subject, target, { config, entry })]
}
