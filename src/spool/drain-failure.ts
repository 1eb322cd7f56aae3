// A small file beside the segments that tells `status` in other processes why a workspace's events do not reach the tables. It is absent
// while draining works. Writing it is best effort; without it `status` still shows since when events have been waiting.
//
//   spool/<workspace>/drain-failure.json
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { spoolFolder } from './folders.ts'

export interface DrainFailure {
  /** Code of the error; `UNEXPECTED` for a fault of our own. */
  code: string
  what: string
  hint: string | null
  /** Time of the first failure after the last success, ms, and the number of failures since then. */
  sinceMs: number
  attempts: number
  /** When the next attempt is due, ms. */
  nextMs: number
  /** The process that drains. */
  pid: number
}

const fileOf = (home: string, workspaceId: string): string => join(spoolFolder(home, workspaceId), 'drain-failure.json')

/** Best effort: never throws. */
export const writeDrainFailure = (home: string, workspaceId: string, failure: DrainFailure): Promise<void> =>
  writeFile(fileOf(home, workspaceId), JSON.stringify(failure), { mode: 0o600 }).catch(() => {})

/** To be called when draining succeeds. Never throws. */
export const clearDrainFailure = (home: string, workspaceId: string): Promise<void> =>
  rm(fileOf(home, workspaceId), { force: true }).catch(() => {})

const isFailure = (value: unknown): value is DrainFailure => {
  const { code, what, sinceMs, nextMs } = (value ?? {}) as Partial<Record<keyof DrainFailure, unknown>>
  return [code, what].every(text => typeof text === 'string') && [sinceMs, nextMs].every(Number.isSafeInteger)
}

/** Null where no failure is on record. */
export async function readDrainFailure(home: string, workspaceId: string): Promise<DrainFailure | null> {
  try {
    const value: unknown = JSON.parse(await readFile(fileOf(home, workspaceId), 'utf8'))
    return isFailure(value) ? value : null
  } catch {
    return null
  }
}
