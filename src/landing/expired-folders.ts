// The record of expired folders: what retention has removed from a landing deliberately, so that `replay` does not report it as missing. A
// folder is recorded before its first page is removed.
//
//   <workspace>/expired.ndjson
import { open, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { hasCode, homeUnusable } from '../core/disk.ts'
import { makeFolder, syncFolder } from '../files/durable.ts'
import { pathSegment } from '../files/path-segment.ts'

export interface ExpiredFolder {
  folder: string
  /** Number of its pages when it expired. */
  pages: number
  expiredMs: number
}

const fileOf = (root: string, workspaceId: string): string => join(root, pathSegment(workspaceId), 'expired.ndjson')

/** Appends and syncs. The leading line feed ends a line that a kill may have cut off. @throws HOME_UNUSABLE */
export async function recordExpired(
  root: string,
  workspaceId: string,
  folders: readonly ExpiredFolder[],
): Promise<void> {
  if (folders.length === 0) return
  const file = fileOf(root, workspaceId)
  try {
    await makeFolder(dirname(file))
    const handle = await open(file, 'a', 0o600)
    try {
      await handle.appendFile(`\n${folders.map(folder => JSON.stringify(folder)).join('\n')}\n`)
      await handle.datasync()
    } finally {
      await handle.close()
    }
    await syncFolder(dirname(file))
  } catch (cause) {
    throw homeUnusable(file, cause)
  }
}

function parsed(line: string): ExpiredFolder[] {
  try {
    const found = JSON.parse(line) as ExpiredFolder
    return typeof found.folder === 'string' ? [found] : []
  } catch {
    return []
  }
}

/** Number of pages of each expired folder. An expiry that was interrupted and repeated counts once. @throws HOME_UNUSABLE */
export async function readExpired(root: string, workspaceId: string): Promise<Map<string, number>> {
  const file = fileOf(root, workspaceId)
  const text = await readFile(file, 'utf8').catch(cause => {
    if (hasCode(cause, 'ENOENT')) return ''
    throw homeUnusable(file, cause)
  })
  const pages = new Map<string, number>()
  for (const found of text.split('\n').flatMap(parsed))
    pages.set(found.folder, Math.max(found.pages, pages.get(found.folder) ?? 0))
  return pages
}
