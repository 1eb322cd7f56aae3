// Expiry of archived event payloads by age. The rows of their events stay in the warehouse, from which `replay` takes them.
import { open, readFile, stat, unlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { hasCode, homeUnusable } from '../core/disk.ts'
import { DAY } from '../core/time.ts'
import { syncFolder } from '../files/durable.ts'
import { archivedFiles } from './archive.ts'
import { spoolFolders } from './folders.ts'

export interface ExpiredArchive {
  files: number
  bytes: number
}

const RECORD = 'expired.ndjson'

/** How many archive files have expired. @throws HOME_UNUSABLE */
export async function expiredArchives(home: string, workspaceId: string): Promise<number> {
  const file = join(spoolFolders(home, workspaceId).drained, RECORD)
  const text = await readFile(file, 'utf8').catch(cause => {
    if (hasCode(cause, 'ENOENT')) return ''
    throw homeUnusable(file, cause)
  })
  // A kill between the record and the removal leaves a file on record twice, and may cut off a line.
  const names = text.split('\n').flatMap(line => /^\{"file":"([^"]+)"/.exec(line)?.[1] ?? [])
  return new Set(names).size
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
  try {
    const handle = await open(join(drained, RECORD), 'a', 0o600)
    try {
      const lines = files.map(file => JSON.stringify({ file: basename(file), expiredMs: nowMs }))
      await handle.appendFile(`\n${lines.join('\n')}\n`)
      await handle.datasync()
    } finally {
      await handle.close()
    }
    await syncFolder(drained)
    for (const file of files)
      await unlink(file).catch(cause => {
        if (!hasCode(cause, 'ENOENT')) throw cause
      })
    await syncFolder(drained)
  } catch (cause) {
    throw homeUnusable(drained, cause)
  }
  return expired
}
