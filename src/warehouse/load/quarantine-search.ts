// Which records of a page cannot be loaded: it is halved, and each half tried, until each one at fault stands alone.

import type { CoercedRecordText, Unreadable } from './coerce-page.ts'
import { isAboutRecords, isAboutThisRecord, safeReason } from './quarantine-reason.ts'

export interface Search {
  records: readonly CoercedRecordText[]
  /** Loads these records and takes them back again; what went wrong, else null. */
  rehearse: (records: readonly CoercedRecordText[]) => Promise<unknown>
  /** Columns that a reason may name. */
  columns: ReadonlySet<string>
}

/** Records that cannot be loaded, and why. @throws what is no fault of a record: a full disk, a fault of ours */
export async function searchUnloadable(search: Search): Promise<Unreadable[]> {
  const { records, rehearse, columns } = search
  const [first] = records
  if (!first) return []
  const fault = await rehearse(records)
  if (fault === null) return []
  if (records.length > 1) {
    if (!isAboutRecords(fault)) throw fault
    const middle = records.length >> 1
    const found = await searchUnloadable({ ...search, records: records.slice(0, middle) })
    return [...found, ...(await searchUnloadable({ ...search, records: records.slice(middle) }))]
  }
  if (!isAboutThisRecord(fault, first.json.length)) throw fault
  return [{ element: first.element, reason: safeReason(fault, columns) }]
}
