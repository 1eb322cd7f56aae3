// Windows by id: selects the ids that the next page requests, and evaluates the answer about them.
import type { PageFacts, WindowProgress } from './windows.ts'

/** Maximum number of pages per window that request ids again; they bill nothing. */
const MAX_PAGES_AGAIN = 16

/** True if all ids have been requested, and only ids to be requested again are left. */
export const isReaskingIds = ({ window, asked }: WindowProgress): boolean => asked >= (window.ids?.length ?? 0)

/** Returns the ids to request next, in order. */
export const idsAhead = (progress: WindowProgress): readonly string[] =>
  isReaskingIds(progress) ? (progress.again?.[0] ?? []) : (progress.window.ids ?? []).slice(progress.asked)

/**
 * Folds a page of ids. Ids whose state its answer left open are requested again, in halves if some were scanned and not
 * exported, until the state of each is known or MAX_PAGES_AGAIN is reached. Ids of missing pages are requested last.
 */
export function advanceIds(progress: WindowProgress, page: PageFacts): Partial<WindowProgress> {
  const { window, asked, again = [], pagesAgain = 0, mostIds } = progress
  const before = Math.max(asked, page.askedBefore ?? asked)
  const ids = window.ids ?? []
  const all = [...ids, ...ids.slice(asked, before)]
  const now = before + (page.again ? 0 : page.limit)
  const rest = page.again ? [again[0]?.slice(page.limit) ?? [], ...again.slice(1)] : again
  const { either } = unansweredOf(page)
  // The vendor scanned only the returned ids: the others are gone, or it answers a limited number of ids at once.
  const isCut = page.hasMore || page.scanned === page.limit - page.missing.length
  const half = isCut ? either.length : Math.ceil(either.length / 2)
  const made = pagesAgain + (page.again ? 1 : 0)
  const groups = [...rest, either.slice(0, half), either.slice(half)].filter(group => group.length > 0)
  const left = made < MAX_PAGES_AGAIN ? groups : []
  return {
    window: before > asked ? { ...window, ids: all } : window,
    asked: now,
    done: now >= all.length && left.length === 0,
    ...((left.length > 0 || again.length > 0) && { again: left }),
    ...(made > 0 && { pagesAgain: made }),
    // After a page with at least one conversation, the next page may request twice as many ids.
    ...(mostIds !== undefined && { mostIds: mostIds * (page.limit > page.missing.length ? 2 : 1) }),
  }
}

/** Halves the ids of the next page after a refused page, since perhaps only one id caused the refusal. */
export const withFewerIds = (progress: WindowProgress, refused: number): WindowProgress => ({
  ...progress,
  mostIds: Math.max(1, Math.floor(refused / 2)),
})

/** Limits of the ids in one request: 500 ids (section 8), and a URL that proxies accept. */
const MAX_IDS = 500
const MAX_IDS_CHARACTERS = 7_000

/** Returns how many of the window's next ids fit into one request. */
export function idsFitting(progress: WindowProgress, maxCharacters = MAX_IDS_CHARACTERS): number {
  let characters = 0
  let count = 0
  for (const id of idsAhead(progress).slice(0, Math.min(MAX_IDS, progress.mostIds ?? MAX_IDS))) {
    // encodeURIComponent throws for a lone surrogate.
    characters += encodeURIComponent(id.toWellFormed()).length + 1
    if (count > 0 && characters > maxCharacters) break
    count += 1
  }
  return count
}

interface Unanswered {
  /** Ids that were not scanned by a page without conversations: the vendor no longer has them. */
  gone: string[]
  /** Ids that were scanned and not exported: no person has written in them (section 4.12, rule 1). */
  notExportable: string[]
  /** Ids that may be gone, not exportable or unanswered: the answer does not distinguish these cases. */
  either: string[]
}

/** True for a page of ids that contains only other conversations than the requested ones. */
export const holdsOnlyOthers = ({
  limit,
  missing,
  returned,
}: Pick<PageFacts, 'limit' | 'missing' | 'returned'>): boolean => missing.length === limit && returned > 0

/**
 * Classifies `missing` ids by `scannedConvoCount` (`scanned`). All lists are empty if that number is missing or implausible. A vendor that
 * answers only with other conversations does not select by id, and one that fails for an id may always do so: each request may be billed.
 */
export function unansweredOf({
  limit,
  missing,
  scanned,
  returned,
  hasMore,
  unread,
}: Pick<PageFacts, 'limit' | 'missing' | 'scanned' | 'returned' | 'hasMore' | 'unread'>): Unanswered {
  const answered = limit - missing.length
  const none = { gone: [], notExportable: [], either: [] }
  if (unread || holdsOnlyOthers({ limit, missing, returned })) return { ...none, notExportable: missing }
  if (hasMore) return { ...none, either: missing }
  if (scanned === null || scanned < answered) return none
  if (scanned >= limit) return { ...none, notExportable: missing }
  return scanned === 0 ? { ...none, gone: missing } : { ...none, either: missing }
}
