// Counts the bytes on disk: below folders that grow to millions of files, of the warehouse, and those that are free.
import { readdir, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { SECOND } from '../core/time.ts'

interface Counted {
  stampMs: number
  bytes: number
  folders: string[]
}

/** A folder that changed this recently may change again without a new modification time, within one tick of its file system's clock. */
const SETTLED_MS = 2 * SECOND

/** Returns the bytes of a file; 0 if it does not exist. */
const fileBytes = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  )

async function count(folder: string, stampMs: number): Promise<Counted> {
  const entries = await readdir(folder, { withFileTypes: true })
  let bytes = 0
  const folders: string[] = []
  for (const entry of entries) {
    if (entry.isDirectory()) folders.push(join(folder, entry.name))
    else bytes += await fileBytes(join(folder, entry.name))
  }
  return { stampMs, bytes, folders }
}

/**
 * Returns a function that sums the bytes of all files below a folder; 0 if it does not exist. Further calls re-read
 * only folders whose modification time has changed, so growth of an existing file (this hour's lease log) is noticed
 * only when its folder next changes. Reads one file at a time, to leave the disk to others.
 */
export function bytesBelow(): (folder: string) => Promise<number> {
  const known = new Map<string, Counted>()
  const sum = async (folder: string): Promise<number> => {
    const found = await stat(folder).catch(() => null)
    const before = known.get(folder)
    known.delete(folder)
    if (found === null) return 0
    const counted = before?.stampMs === found.mtimeMs ? before : await count(folder, found.mtimeMs).catch(() => null)
    if (counted === null) return 0
    if (Date.now() - found.mtimeMs > SETTLED_MS) known.set(folder, counted)
    let bytes = counted.bytes
    for (const below of counted.folders) bytes += await sum(below)
    return bytes
  }
  return sum
}

/** Returns the bytes that the file system of a folder has free for this user. @throws the system's error */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

/** Returns the bytes of a warehouse: its file and its log, which may contain a complete first load until the close. */
export const warehouseSize = async (file: string): Promise<number> =>
  (await fileBytes(file)) + (await fileBytes(`${file}.wal`))
