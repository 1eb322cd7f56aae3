// Ids that a page requested and that the answer does not contain.

interface Unanswered {
  /** Not scanned: the vendor no longer has them. */
  gone: string[]
  /** Scanned and not exported: no person has written in them (section 4.12, rule 1). */
  notExportable: string[]
  /** Some are gone and some not exportable; the answer does not show which. */
  either: string[]
}

/** Classifies `missing` ids by `scannedConvoCount` (`scanned`). All lists are empty where that number is absent or implausible. */
export function unansweredOf({
  limit,
  missing,
  scanned,
}: {
  limit: number
  missing: string[]
  scanned: number | null
}): Unanswered {
  const answered = limit - missing.length
  const none = { gone: [], notExportable: [], either: [] }
  if (scanned === null || scanned < answered) return none
  if (scanned >= limit) return { ...none, notExportable: missing }
  return scanned === answered ? { ...none, gone: missing } : { ...none, either: missing }
}
