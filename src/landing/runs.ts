// Runs of a workspace, appended when they begin and when they end, so that a rebuilt warehouse knows them: pages do not record runs. Only the
// process that holds the warehouse writes here. One file a month beside the pages:
//
//   <workspace>/runs/2026-11.ndjson
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { homeUnusable } from '../core/disk.ts'
import type { RunRecord } from '../core/run-record.ts'
import { makeFolder, namesIn, syncFolder } from '../files/durable.ts'
import { pathSegment } from '../files/path-segment.ts'

/** What one line records of a run: its beginning, its end, or that it dropped the full exports planned up to `fullsDroppedMs`. */
export type RunEntry = Pick<RunRecord, 'run'> & Partial<RunRecord> & { fullsDroppedMs?: number }

const folderOf = (root: string, workspaceId: string): string => join(root, pathSegment(workspaceId), 'runs')

/** Appends and syncs. The leading line feed ends a line that a kill may have cut off. @throws HOME_UNUSABLE */
export async function appendRun(root: string, workspaceId: string, entry: RunEntry, nowMs: number): Promise<void> {
  const folder = folderOf(root, workspaceId)
  const file = join(folder, `${new Date(nowMs).toISOString().slice(0, 7)}.ndjson`)
  try {
    await makeFolder(folder)
    const handle = await open(file, 'a', 0o600)
    try {
      await handle.appendFile(`\n${JSON.stringify(entry)}\n`)
      await handle.datasync()
    } finally {
      await handle.close()
    }
    await syncFolder(folder)
  } catch (cause) {
    throw homeUnusable(file, cause)
  }
}

function parsed(line: string): RunEntry[] {
  try {
    const entry = JSON.parse(line) as RunEntry
    return typeof entry.run === 'string' ? [entry] : []
  } catch {
    return []
  }
}

/** The entries of each run merged, including runs that never began. @throws HOME_UNUSABLE */
async function readEntries(root: string, workspaceId: string): Promise<RunEntry[]> {
  const folder = folderOf(root, workspaceId)
  const runs = new Map<string, RunEntry>()
  for (const name of (await namesIn(folder)).filter(name => name.endsWith('.ndjson')).sort()) {
    const text = await readFile(join(folder, name), 'utf8').catch(cause => {
      throw homeUnusable(join(folder, name), cause)
    })
    for (const entry of text.split('\n').flatMap(parsed)) runs.set(entry.run, { ...runs.get(entry.run), ...entry })
  }
  return [...runs.values()]
}

/** All runs that began. @throws HOME_UNUSABLE */
export async function readRuns(root: string, workspaceId: string): Promise<RunRecord[]> {
  const runs = await readEntries(root, workspaceId)
  return runs.flatMap(run => (run.startedMs === undefined ? [] : [{ ...run, startedMs: run.startedMs }]))
}

/** All full exports planned up to this time have been dropped, ms; null: none has. @throws HOME_UNUSABLE */
export async function readFullsDropped(root: string, workspaceId: string): Promise<number | null> {
  const dropped = (await readEntries(root, workspaceId)).flatMap(run => run.fullsDroppedMs ?? [])
  return dropped.length === 0 ? null : Math.max(...dropped)
}
