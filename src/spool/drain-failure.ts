// A small file beside the segments that tells `status` in other processes why a workspace's events do not reach the tables. It is
// missing while draining works. Writing it is best effort; without it `status` still shows since when events have been waiting.
//
//   spool/<workspace>/drain-failure.json
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { spoolFolder } from './folders.ts'

export interface DrainFailure {
  /** Code of the error; `UNEXPECTED` for our own faults. */
  code: string
  what: string
  hint: string | null
  /** Time of the first failure after the last success, ms, and the number of failures since then. */
  sinceMs: number
  attempts: number
  /** Time of the next attempt, ms. */
  nextMs: number
  /** The process that drains. */
  pid: number
}

const fileOf = (home: string, workspaceId: string): string => join(spoolFolder(home, workspaceId), 'drain-failure.json')

/** Writes the file; best effort, never throws. */
export const writeDrainFailure = (home: string, workspaceId: string, failure: DrainFailure): Promise<void> =>
  writeFile(fileOf(home, workspaceId), JSON.stringify(failure), { mode: 0o600 }).catch(() => {})

/** Removes the file when draining succeeds. Never throws. */
export const clearDrainFailure = (home: string, workspaceId: string): Promise<void> =>
  rm(fileOf(home, workspaceId), { force: true }).catch(() => {})

const isFailure = (value: unknown): value is DrainFailure => {
  const { code, what, sinceMs, nextMs } = (value ?? {}) as Partial<Record<keyof DrainFailure, unknown>>
  return [code, what].every(text => typeof text === 'string') && [sinceMs, nextMs].every(Number.isSafeInteger)
}

/** Reads the file; null if no failure is recorded. */
export async function readDrainFailure(home: string, workspaceId: string): Promise<DrainFailure | null> {
  try {
    const value: unknown = JSON.parse(await readFile(fileOf(home, workspaceId), 'utf8'))
    return isFailure(value) ? value : null
  } catch {
    return null
  }
}
