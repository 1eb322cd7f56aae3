// Why events of a workspace do not reach the tables, as `status` in another process reads it: a small file beside the segments, there for as
// long as draining fails. It is written as well as the disk allows; without it `status` still tells since when events wait.
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
  /** When it failed first, since it last succeeded, and how often since then; ms. */
  sinceMs: number
  attempts: number
  /** When it is tried again, ms. */
  nextMs: number
  /** The process that tries. */
  pid: number
}

const fileOf = (home: string, workspaceId: string): string =>
  join(dirname(spoolFolders(home, workspaceId).sealed), 'drain-failure.json')

/** Leaves it to be read; no failure of its own is thrown. */
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

/** Nothing fails any more. */
export async function clearDrainFailure(home: string, workspaceId: string): Promise<void> {
  await unlink(fileOf(home, workspaceId)).catch(() => {})
}

const isFailure = (value: unknown): value is DrainFailure => {
  const { code, what, sinceMs, nextMs } = (value ?? {}) as Partial<Record<keyof DrainFailure, unknown>>
  return [code, what].every(text => typeof text === 'string') && [sinceMs, nextMs].every(Number.isSafeInteger)
}

/** Null where draining does not fail, as far as is known. */
export async function readDrainFailure(home: string, workspaceId: string): Promise<DrainFailure | null> {
  try {
    const value: unknown = JSON.parse(await readFile(fileOf(home, workspaceId), 'utf8'))
    return isFailure(value) ? value : null
  } catch {
    return null
  }
}
