// Pages behind one that is missing. Each page of a window begins where the one before it ended, so where one was deleted
// (because it could not be read, say), those behind it must wait: a window whose last page is loaded counts as read to its
// end. They are not bought again: when the missing page has come anew, fetching takes them as they are.
import { posix } from 'node:path'
import { sortOf } from '../core/windows.ts'
import { pageName } from '../landing/names.ts'
import type { PageHead } from '../landing/page.ts'
import type { LandedFile } from '../landing/store.ts'

export interface LandedPage {
  file: LandedFile
  head: PageHead
}

const windowOf = ({ path, window }: LandedFile): string => posix.join(posix.dirname(path), window)

const pathOf = (file: LandedFile, generation: number, sequence: number): string =>
  posix.join(posix.dirname(file.path), pageName({ window: file.window, generation, sequence }))

/** True where the page before it is there, by its name. */
function hasPredecessor({ file }: LandedPage, isThere: (path: string) => boolean): boolean {
  const { generation, sequence } = file
  if (sequence > 1) return isThere(pathOf(file, generation, sequence - 1))
  return generation === 1 || isThere(pathOf(file, generation - 1, 1))
}

/** True for the page that comes just before it; where that one is loaded, or known to be gone, an older one may stand there. */
const isJustBefore = ({ generation, sequence }: LandedFile, file: LandedFile): boolean =>
  generation === file.generation && sequence === file.sequence - 1

/** False where the page before it was bought anew and ends elsewhere. */
const isChained = (before: LandedPage | undefined, { file, head }: LandedPage): boolean =>
  before === undefined || !isJustBefore(before.file, file) || head.facts?.cursorIn === before.head.facts?.cursorOut

/** True for a generation that was begun, after the page went missing, where the pages before the gap end. */
function goesOn(before: LandedPage | undefined, { file, head }: LandedPage): boolean {
  const lastTsMs = before?.head.facts?.lastTsMs
  if (file.sequence !== 1 || !head.facts || lastTsMs == null) return false
  const { fromTs, toTs } = head.request.query
  return sortOf(head.facts.window.kind) === 'asc'
    ? fromTs === `${Math.floor(lastTsMs)}`
    : toTs === `${Math.ceil(lastTsMs)}`
}

/**
 * Parts pages, which come in the landing's order, into those that may be loaded and those behind a gap. `isThere` tells of
 * every page that landed or is loaded, by its path.
 */
export function partAtGaps<T extends LandedPage>(
  pages: readonly T[],
  isThere: (path: string) => boolean,
): { ready: T[]; held: T[] } {
  const ready: T[] = []
  const held: T[] = []
  const broken = new Set<string>()
  const lastOf = new Map<string, T>()
  for (const page of pages) {
    const window = windowOf(page.file)
    const before = lastOf.get(window)
    const follows =
      page.head.place.stream !== 'conversations' ||
      (broken.has(window) ? goesOn(before, page) : hasPredecessor(page, isThere) && isChained(before, page))
    if (follows) {
      broken.delete(window)
      lastOf.set(window, page)
      ready.push(page)
    } else {
      broken.add(window)
      held.push(page)
    }
  }
  return { ready, held }
}
