// Where a path leads: symbolic links are followed, also to a file that does not exist yet.
import { constants } from 'node:fs'
import { copyFile, link, readlink, realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { hasCode } from '../core/disk.ts'

/** The path without symbolic links. @throws the system's error, among others of links that lead in a circle */
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

// A second name for a file, or a copy where the file system allows none.

/** Errors of file systems that cannot link: without hard links, with too many of a file, or not from another one. */
const CANNOT_LINK = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV']

/** @returns false if the file had to be copied */
export async function linkOrCopy(from: string, path: string): Promise<boolean> {
  try {
    await link(from, path)
    return true
  } catch (cause) {
    if (!CANNOT_LINK.some(code => hasCode(cause, code))) throw cause
    await copyFile(from, path, constants.COPYFILE_FICLONE)
    return false
  }
}
