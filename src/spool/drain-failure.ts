// A small file beside the segments that tells `status` in other processes why a workspace's events do not reach the tables. It exists while
// draining fails. Writing it is best effort; without it `status` still shows since when events have been waiting.
//
//   spool/<workspace>/drain-failure.json
import { readFile, rename, unlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { temporaryName } from '../files/durable.ts'
import { spoolFolders } from './folders.ts'

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

const fileOf = (home: string, workspaceId: string): string =>
  join(dirname(spoolFolders(home, workspaceId).sealed), 'drain-failure.json')

/** Best effort: never throws. */
export async function writeDrainFailure(home: string, workspaceId: string, failure: DrainFailure): Promise<void> {
  const file = fileOf(home, workspaceId)
  const temporary = join(dirname(file), temporaryName())
  try {
    await writeFile(temporary, JSON.stringify(failure), { mode: 0o600 })
    await rename(temporary, file)
  } catch {
    await unlink(temporary).catch(() => {})
  }
}

/** To be called when draining succeeds. Never throws. */
export async function clearDrainFailure(home: string, workspaceId: string): Promise<void> {
  await unlink(fileOf(home, workspaceId)).catch(() => {})
}

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
