// Windows by id: which ids the next page requests, and what a page says about its ids.
import type { PageFacts, WindowProgress } from './windows.ts'

/** Maximum number of pages per window that request ids once more; such pages bill nothing. */
const MAX_PAGES_AGAIN = 16

/** True if all ids have been requested, and only ids to be requested once more are left. */
export const isReaskingIds = ({ window, asked }: WindowProgress): boolean => asked >= (window.ids?.length ?? 0)

/** Returns the ids to request next, in order. */
export const idsAhead = (progress: WindowProgress): readonly string[] =>
  isReaskingIds(progress) ? (progress.again?.[0] ?? []) : (progress.window.ids ?? []).slice(progress.asked)

/**
 * Folds a page of ids. Ids whose state its answer left open are requested again, in halves if some were scanned and not exported, until the
 * state of each is known or MAX_PAGES_AGAIN is reached. Ids of missing pages are requested last.
 */
export function advanceIds(progress: WindowProgress, page: PageFacts): Partial<WindowProgress> {
  const { window, asked, again = [], pagesAgain = 0, mostIds } = progress
  const before = Math.max(asked, page.askedBefore ?? asked)
  const ids = window.ids ?? []
  const all = [...ids, ...ids.slice(asked, before)]
  const now = before + (page.again ? 0 : page.limit)
  const rest = page.again ? [again[0]?.slice(page.limit) ?? [], ...again.slice(1)] : again
  const { either } = unansweredOf(page)
  // As many as were answered were scanned: the others are gone, or the vendor answers only so many ids at once.
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

/** After a refused page of ids: the next page requests half as many, since perhaps only one id caused the refusal. */
export const withFewerIds = (progress: WindowProgress, refused: number): WindowProgress => ({
  ...progress,
  mostIds: Math.max(1, Math.floor(refused / 2)),
})

/** Limits of the ids in one request: 500 ids (section 8), and a URL that proxies accept. */
const MAX_IDS = 500
const MAX_IDS_CHARACTERS = 7_000

/** How many of the window's next ids fit one request. */
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
  /** Not scanned, by a page that returned no conversation: the vendor no longer has them. */
  gone: string[]
  /** Scanned and not exported: no person has written in them (section 4.12, rule 1). */
  notExportable: string[]
  /** Some may be gone and some not exportable, or the vendor may have answered only some of the ids: the answer does not show which. */
  either: string[]
}

/** True for a page of ids with other conversations than the requested ones only. */
export const holdsOnlyOthers = ({
  limit,
  missing,
  returned,
}: Pick<PageFacts, 'limit' | 'missing' | 'returned'>): boolean => missing.length === limit && returned > 0

/**
 * Classifies `missing` ids by `scannedConvoCount` (`scanned`). All lists are empty where that number is absent or implausible. A vendor that
 * answers with other conversations only does not select by id, and one that fails for an id may do so for ever: each request may be billed.
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
