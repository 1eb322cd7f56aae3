// Reads folders whose files another process may be joining into fewer files.
import { hasCode, homeUnusable } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'

/** Lists files of a folder that are read together. */
export type ListFiles = (folder: string) => Promise<string[]>

const MOST_ATTEMPTS = 50

const hasOthers = (before: readonly string[], now: readonly string[]): boolean =>
  now.some(file => !before.includes(file))

/**
 * Repeats `read` if a file has disappeared in between, or if a folder that it listed with the given function has a new
 * file, since pages may have moved there. `place` is named in errors. @throws HOME_UNUSABLE, and the errors of `read`
 */
export async function consistently<T>(
  place: string,
  files: ListFiles,
  read: (list: ListFiles) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const listed = new Map<string, readonly string[]>()
    const list = async (folder: string) => {
      const found = await files(folder)
      listed.set(folder, found)
      return found
    }
    try {
      const result = await read(list)
      const changed = await Promise.all(
        [...listed].map(async ([folder, found]) => hasOthers(found, await files(folder))),
      )
      if (!changed.includes(true) || attempt === MOST_ATTEMPTS) return result
    } catch (cause) {
      if (hasCode(cause, 'ENOENT') && attempt < MOST_ATTEMPTS) continue
      throw cause instanceof ConvohouseError ? cause : homeUnusable(place, cause)
    }
  }
}
