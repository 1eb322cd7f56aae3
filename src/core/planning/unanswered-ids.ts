// Ids that a page requested and that the answer does not contain.
import type { PageFacts } from './windows.ts'

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
