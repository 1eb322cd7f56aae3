// A second name for a file, or a copy where the file system allows none.
import { constants } from 'node:fs'
import { copyFile, link } from 'node:fs/promises'
import { hasCode } from '../core/disk.ts'

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
