// Bytes below folders that grow to millions of files: a folder is counted again where it has changed since, which its own time tells.
// A file that grows in place (the lease log of this hour) is counted when its folder changes.
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { SECOND } from '../core/time.ts'

interface Counted {
  stampMs: number
  bytes: number
  folders: string[]
}

/** A folder that changed so lately may change again within the same tick of its file system's clock. */
const SETTLED_MS = 2 * SECOND

/** Bytes of a file; 0 where it is not there. */
export const fileBytes = (path: string): Promise<number> =>
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

/** Asked, it tells the bytes of all files below a folder; 0 where it is not there. One file at a time: others want the disk, too. */
export function storedBytes(): (folder: string) => Promise<number> {
  const known = new Map<string, Counted>()
  const bytesBelow = async (folder: string): Promise<number> => {
    const found = await stat(folder).catch(() => null)
    const before = known.get(folder)
    known.delete(folder)
    if (found === null) return 0
    const counted = before?.stampMs === found.mtimeMs ? before : await count(folder, found.mtimeMs).catch(() => null)
    if (counted === null) return 0
    if (Date.now() - found.mtimeMs > SETTLED_MS) known.set(folder, counted)
    let bytes = counted.bytes
    for (const below of counted.folders) bytes += await bytesBelow(below)
    return bytes
  }
  return bytesBelow
}
