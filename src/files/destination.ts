// Resolves a path: follows symbolic links, even to a file that does not exist yet.
import { readlink, realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { hasCode } from '../core/disk.ts'

/** Returns the path without symbolic links. @throws the system's error, for example for links that form a cycle */
export async function destinationOf(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (cause) {
    if (!hasCode(cause, 'ENOENT')) throw cause
  }
  const parent = dirname(path)
  const folder = parent === path ? path : await destinationOf(parent)
  const target = await readlink(path).catch(() => null)
  return target === null ? join(folder, basename(path)) : destinationOf(resolve(folder, target))
}
