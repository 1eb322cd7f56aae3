// Expiry of archived event payloads by age. The rows of their events stay in the warehouse, from which `replay` takes them.
import { stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { DAY } from '../core/time.ts'
import { removeFiles } from '../files/durable.ts'
import { appendJsonLines, readJsonLines } from '../files/line-log.ts'
import { archivedFiles } from './archive.ts'
import { spoolFolders } from './folders.ts'

export interface ExpiredArchive {
  files: number
  bytes: number
}

const RECORD = 'expired.ndjson'

/** An entry of the record: the name of an archive file, and when it expired. */
interface Recorded {
  file: string
  expiredMs: number
}

/** How many archive files have expired. @throws HOME_UNUSABLE */
export async function expiredArchives(home: string, workspaceId: string): Promise<number> {
  const recorded = await readJsonLines<Recorded>(join(spoolFolders(home, workspaceId).drained, RECORD), 'file')
  // A kill between the record and the removal leaves a file on record twice.
  return new Set(recorded.map(({ file }) => file)).size
}

/** End of the day that an archive file is named after, ms. */
const endOf = (file: string): number => Date.parse(basename(file).slice(0, '2026-11-21'.length)) + DAY

/**
 * Removes the archive files of days that ended by `beforeMs`, and records their names first, in a file beside them. With `dryRun`
 * it only counts. @throws HOME_UNUSABLE
 */
export async function expireArchive(
  home: string,
  workspaceId: string,
  { beforeMs, nowMs, dryRun }: { beforeMs: number; nowMs: number; dryRun: boolean },
): Promise<ExpiredArchive> {
  const { drained } = spoolFolders(home, workspaceId)
  const files = (await archivedFiles(home, workspaceId)).filter(file => endOf(file) <= beforeMs)
  const sizes = await Promise.all(files.map(file => stat(file).then(({ size }) => size)))
  const expired = { files: files.length, bytes: sizes.reduce((sum, size) => sum + size, 0) }
  if (dryRun || files.length === 0) return expired
  const entries = files.map((file): Recorded => ({ file: basename(file), expiredMs: nowMs }))
  await appendJsonLines(join(drained, RECORD), entries)
  await removeFiles(files)
  return expired
}
