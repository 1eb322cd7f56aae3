// Runs of a workspace, appended when they begin and when they end, so that a rebuilt warehouse knows them, since pages
// do not record runs. Only the process that holds the warehouse writes here. One file per month lies beside the pages:
//
//   <workspace>/runs/2026-11.ndjson
import { join } from 'node:path'
import type { RunRecord } from '../core/run-record.ts'
import { namesIn } from '../files/durable.ts'
import { appendJsonLines, readJsonLines } from '../files/line-log.ts'
import { pathSegment } from '../files/path-segment.ts'

/** One line about a run: its beginning, its end, or that it dropped the full exports planned up to `fullsDroppedMs`. */
export type RunEntry = Pick<RunRecord, 'run'> & Partial<RunRecord> & { fullsDroppedMs?: number }

const folderOf = (root: string, workspaceId: string): string => join(root, pathSegment(workspaceId), 'runs')

/** Appends and syncs. @throws HOME_UNUSABLE */
export function appendRun(root: string, workspaceId: string, entry: RunEntry, nowMs: number): Promise<void> {
  const month = new Date(nowMs).toISOString().slice(0, 7)
  return appendJsonLines(join(folderOf(root, workspaceId), `${month}.ndjson`), [entry])
}

/** Returns the entries of each run merged, including runs that never began. @throws HOME_UNUSABLE */
async function readEntries(root: string, workspaceId: string): Promise<RunEntry[]> {
  const folder = folderOf(root, workspaceId)
  const runs = new Map<string, RunEntry>()
  for (const name of (await namesIn(folder)).filter(name => name.endsWith('.ndjson')).sort()) {
    for (const entry of await readJsonLines<RunEntry>(join(folder, name), 'run'))
      runs.set(entry.run, { ...runs.get(entry.run), ...entry })
  }
  return [...runs.values()]
}

/** Returns all runs that began. @throws HOME_UNUSABLE */
export async function readRuns(root: string, workspaceId: string): Promise<RunRecord[]> {
  const runs = await readEntries(root, workspaceId)
  return runs.flatMap(run => (run.startedMs === undefined ? [] : [{ ...run, startedMs: run.startedMs }]))
}

/** Returns the time up to which all planned full exports have been dropped, ms; null if none has. @throws HOME_UNUSABLE */
export async function readFullsDropped(root: string, workspaceId: string): Promise<number | null> {
  const dropped = (await readEntries(root, workspaceId)).flatMap(run => run.fullsDroppedMs ?? [])
  return dropped.length === 0 ? null : Math.max(...dropped)
}
