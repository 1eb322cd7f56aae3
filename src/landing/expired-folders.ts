// The record of expired folders: what retention has removed from a landing deliberately, so that `replay` does not report it as missing. A
// folder is recorded before its first page is removed.
//
//   <workspace>/expired.ndjson
import { join } from 'node:path'
import { appendJsonLines, readJsonLines } from '../files/line-log.ts'
import { pathSegment } from '../files/path-segment.ts'

export interface ExpiredFolder {
  folder: string
  /** Number of its pages when it expired. */
  pages: number
  expiredMs: number
}

const fileOf = (root: string, workspaceId: string): string => join(root, pathSegment(workspaceId), 'expired.ndjson')

/** Appends and syncs. @throws HOME_UNUSABLE */
export async function recordExpired(
  root: string,
  workspaceId: string,
  folders: readonly ExpiredFolder[],
): Promise<void> {
  if (folders.length > 0) await appendJsonLines(fileOf(root, workspaceId), folders)
}

/** Number of pages of each expired folder. An expiry that was interrupted and repeated counts once. @throws HOME_UNUSABLE */
export async function readExpired(root: string, workspaceId: string): Promise<Map<string, number>> {
  const pages = new Map<string, number>()
  for (const found of await readJsonLines<ExpiredFolder>(fileOf(root, workspaceId), 'folder'))
    pages.set(found.folder, Math.max(found.pages, pages.get(found.folder) ?? 0))
  return pages
}
