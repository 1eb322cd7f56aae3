// A small file beside the segments that tells `status` in other processes why a workspace's events do not reach the tables. It is blank
// while draining works. The file keeps its size and is overwritten in place, so that a full disk can be reported. Writing it is best effort;
// without it `status` still shows since when events have been waiting.
//
//   spool/<workspace>/drain-failure.json
import { readFile, stat, writeFile } from 'node:fs/promises'
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

const NAME = 'drain-failure.json'

const fileOf = (home: string, workspaceId: string): string => join(spoolFolder(home, workspaceId), NAME)

/** One block of a disk. */
const RECORD_BYTES = 4096
/** Longer messages are cut off, so that a record fits, also in bytes of UTF-8. */
const LONGEST_TEXT = 600

const BLANK = Buffer.alloc(RECORD_BYTES, ' ')

const shortened = (text: string): string => (text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text)

function recordOf(failure: DrainFailure): Buffer {
  const { what, hint } = failure
  const record = Buffer.from(BLANK)
  record.write(JSON.stringify({ ...failure, what: shortened(what), hint: hint === null ? null : shortened(hint) }))
  return record
}

/** Overwrites the file without allocating space. */
const overwrite = (file: string, record: Buffer): Promise<void> => writeFile(file, record, { flag: 'r+' })

const create = (file: string, record: Buffer): Promise<void> => writeFile(file, record, { mode: 0o600 }).catch(() => {})

/** Reserves the space of the record in a workspace's folder, before the disk is full. Best effort: never throws. @returns whether it is reserved */
export async function reserveDrainFailure(folder: string): Promise<boolean> {
  const file = join(folder, NAME)
  const isReserved = () =>
    stat(file).then(
      ({ size }) => size === RECORD_BYTES,
      () => false,
    )
  if (await isReserved()) return true
  await create(file, BLANK)
  return isReserved()
}

/** Best effort: never throws. */
export async function writeDrainFailure(home: string, workspaceId: string, failure: DrainFailure): Promise<void> {
  const file = fileOf(home, workspaceId)
  const record = recordOf(failure)
  await overwrite(file, record).catch(() => create(file, record))
}

/** To be called when draining succeeds. Never throws. */
export async function clearDrainFailure(home: string, workspaceId: string): Promise<void> {
  await overwrite(fileOf(home, workspaceId), BLANK).catch(() => {})
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
