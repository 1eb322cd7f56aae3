// Temporary files below the data folder: coerced copies of landed pages, and the folders to which DuckDB spills. Like the
// warehouse, they contain personal data. The next process that opens the warehouse removes those of a killed process.
import { randomBytes } from 'node:crypto'
import { readdir, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { makeFolder } from '../files/durable.ts'

export const temporaryFolder = (home: string): string => join(home, 'tmp')

const COPY_PREFIX = 'coerced-'

export interface CoercedFile {
  file: string
  bytes: number
}

/** DuckDB holds a JSON value in memory while it parses it, so a page of large records becomes several files. */
const FILE_BYTES = 8 * 1024 * 1024

/** Divides records into pieces of about FILE_BYTES, with at least one record each. */
function* pieces(records: readonly { json: string }[]): Generator<string[]> {
  let piece: string[] = []
  let length = 0
  for (const { json } of records) {
    if (length > 0 && length + json.length > FILE_BYTES) {
      yield piece
      piece = []
      length = 0
    }
    piece.push(json)
    length += json.length
  }
  if (piece.length > 0) yield piece
}

/** Writes records, as JSON texts, into files below `folder`. The caller removes them once the batch is loaded. */
export async function writeCoerced(folder: string, records: readonly { json: string }[]): Promise<CoercedFile[]> {
  await makeFolder(folder)
  const files: CoercedFile[] = []
  try {
    for (const piece of pieces(records)) {
      const file = join(folder, `${COPY_PREFIX}${process.pid}-${randomBytes(6).toString('hex')}.json`)
      const text = `{"data":[${piece.join(',')}]}`
      files.push({ file, bytes: Buffer.byteLength(text) })
      await writeFile(file, text, { mode: 0o600 })
    }
  } catch (error) {
    await removeCoerced(files)
    throw error
  }
  return files
}

export const removeCoerced = (files: readonly CoercedFile[]): Promise<unknown> =>
  Promise.all(files.map(({ file }) => rm(file, { force: true })))

/** Removes copies from before `beforeMs`, when the caller began to open the warehouse. Requires its lock, so nobody writes copies. */
export async function removeStaleCopies(home: string, beforeMs: number): Promise<void> {
  const folder = temporaryFolder(home)
  const names = await readdir(folder).catch(() => [])
  const isCopy = (name: string) => name.startsWith(COPY_PREFIX)
  for (const file of names.filter(isCopy).map(name => join(folder, name))) {
    const found = await stat(file).catch(() => null)
    if (found && found.mtimeMs < beforeMs) await rm(file, { force: true })
  }
}

const SPILL_SUFFIX = '.spill'

const spillParent = (file: string): string => temporaryFolder(dirname(file))

/**
 * Returns a spill folder for one instance of `file`. Instances sharing one would overwrite each other's files, and DuckDB removes it
 * when it frees the instance, which may be long after it was closed, and after the same process has opened the file again.
 */
export const spillFolder = (file: string): string =>
  join(spillParent(file), `${basename(file)}.${process.pid}-${randomBytes(4).toString('hex')}${SPILL_SUFFIX}`)

/** Creates the parent of spill folders, which DuckDB does not. @throws HOME_UNUSABLE */
export const createSpillParent = (file: string): Promise<void> => makeFolder(spillParent(file))

/**
 * Removes the spill folders of instances of `file` other than the one that spills to `own`: a log that exceeds the memory limit is spilled
 * while the file is attached. Requires the lock of `file`, so that no other process has it open.
 */
export async function removeStaleSpills(file: string, own: string): Promise<void> {
  const names = await readdir(spillParent(file)).catch(() => [])
  const isStale = (name: string) =>
    name.startsWith(`${basename(file)}.`) && name.endsWith(SPILL_SUFFIX) && name !== basename(own)
  for (const name of names.filter(isStale)) await rm(join(spillParent(file), name), { recursive: true, force: true })
}
