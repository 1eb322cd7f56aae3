// Ids that a page requested and the answer does not contain.

interface Unanswered {
  /** Not scanned: the vendor no longer has them. */
  gone: string[]
  /** Scanned and not exported: no person has written in them (section 4.12, rule 1). */
  notExportable: string[]
  /** A mix of both. */
  either: string[]
}

/** Classifies them by `scannedConvoCount`, the number of scanned conversations. All lists are empty where it is absent or implausible. */
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
