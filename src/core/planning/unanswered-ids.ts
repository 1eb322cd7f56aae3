// Ids that a page requested and that have no answer.

export interface Unanswered {
  /** Not looked at: the vendor no longer has them. */
  gone: string[]
  /** Looked at, and not exported: no person has written in them (section 4.12, rule 1). */
  notExportable: string[]
  /** A mix of both. */
  either: string[]
}

/** By `scannedConvoCount`, the conversations looked at. All are empty where it is absent or implausible. */
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
