// Ids that a page asked for and did not answer.

/** What has become of the ids that a page asked for and did not answer. */
export interface Unanswered {
  /** Not looked at: the vendor does not have them any more. */
  gone: string[]
  /** Looked at, and not exported: no person has written in them (section 4.12, rule 1). */
  notExportable: string[]
  /** Some are the one and some the other. */
  either: string[]
}

/** By `scannedConvoCount`: the conversations that were looked at. Where it is not told, or makes no sense, nothing is said of any. */
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
