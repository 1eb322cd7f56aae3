// Records taken out of the quarantine: read from the landing again, mended under the catalog as it is now, and loaded each
// in a transaction of its own, together with the removal of its row from `_quarantine`.

import { emptyNotes } from '../../catalog/inspect.ts'
import { quoteText } from '../../catalog/layout.ts'
import { RECORD_OF } from '../../catalog/resources.ts'
import type { RecordType } from '../../catalog/shape.ts'
import { addCoerced, emptyBatch } from '../load/batch.ts'
import { type CoercedPage, coercePage, issueOfUnreadable, removeCoerced } from '../load/coerce-page.ts'
import { coercedFindings, writeFindings } from '../load/findings.ts'
import type { LoadContext } from '../load/load-context.ts'
import type { LoadablePage } from '../load/load-input.ts'
import { columnsOf, isAboutThisRecord, isLoadError, loadError, safeReason } from '../load/quarantine-reason.ts'
import { mergeOptions, stageRecords, writeRecords } from '../load/write-records.ts'

export interface Retried {
  element: number
  /** Why it stays; null where it is loaded. */
  reason: string | null
}

const rowOf = ({ workspaceId }: LoadContext, page: LoadablePage, element: number): string =>
  `workspace_id = ${quoteText(workspaceId)} AND file = ${quoteText(page.address)} AND element = ${element}`

/** Why it was quarantined. */
async function reasonOf(context: LoadContext, page: LoadablePage, element: number): Promise<string | undefined> {
  const sql = `SELECT reason FROM _quarantine WHERE ${rowOf(context, page, element)}`
  return (await context.writer.rows<{ reason: string }>(sql))[0]?.reason
}

interface CoercedElement extends CoercedPage {
  element: number
}

/**
 * Where a record had not been read when its page was loaded, tells what is found in it, in place of that it was not read.
 * Inside the caller's transaction, before its row in `_quarantine` changes.
 */
async function replaceUnreadIssue(
  context: LoadContext,
  record: RecordType,
  page: LoadablePage,
  found: CoercedElement,
): Promise<void> {
  const { writer, workspaceId } = context
  const reason = await reasonOf(context, page, found.element)
  if (reason === undefined || isLoadError(reason)) return
  const { path, issue } = issueOfUnreadable(reason)
  const told = `workspace_id = ${quoteText(workspaceId)} AND record = ${quoteText(record.name)}
    AND path = ${quoteText(path)} AND issue = ${quoteText(issue)}`
  await writer.run(`UPDATE _issues SET occurrences = occurrences - 1 WHERE ${told}`)
  await writer.run(`DELETE FROM _issues WHERE ${told} AND occurrences < 1`)
  // What inspection noted has been told with the page.
  const files = [{ page, findings: coercedFindings(emptyNotes(), found) }]
  await writeFindings(writer, { workspaceId, record, files })
}

/** The page as if it held this record alone: its window and its cost are in the books already. */
async function loadOne(
  context: LoadContext,
  record: RecordType,
  page: LoadablePage,
  found: CoercedElement,
): Promise<void> {
  const { writer, workspaceId } = context
  const batch = emptyBatch(record)
  await addCoerced(context, batch, page, found)
  const options = mergeOptions(context, batch)
  let settled: Awaited<ReturnType<typeof stageRecords>> = null
  try {
    await writer.transaction(
      async () => {
        await writeRecords(writer, options, settled)
        await replaceUnreadIssue(context, record, page, found)
        await writer.run(`DELETE FROM _quarantine WHERE ${rowOf(context, page, found.element)}`)
        await writer.run(
          `UPDATE _loads SET records = records + 1 WHERE workspace_id = ${quoteText(workspaceId)} AND file = ${quoteText(page.address)}`,
        )
      },
      async () => {
        settled = await stageRecords(writer, batch, options)
      },
    )
  } finally {
    await removeCoerced(batch.coercedFiles)
  }
}

async function keepInQuarantine(
  context: LoadContext,
  page: LoadablePage,
  { element, reason }: { element: number; reason: string },
  tell: () => Promise<void> = async () => {},
): Promise<Retried> {
  const { writer } = context
  await writer.transaction(async () => {
    await tell()
    await writer.run(`UPDATE _quarantine SET reason = ${quoteText(reason)} WHERE ${rowOf(context, page, element)}`)
  })
  return { element, reason }
}

async function retryOne(context: LoadContext, page: LoadablePage, body: Uint8Array, element: number): Promise<Retried> {
  const record = RECORD_OF[page.head.place.stream]
  const found = { ...coercePage(record, body, new Set([element])), element }
  const [unreadable] = found.unreadable
  const [one] = found.records
  if (!one) {
    const reason = unreadable?.reason ?? 'the page holds no such element'
    return keepInQuarantine(context, page, { element, reason })
  }
  try {
    await loadOne(context, record, page, found)
    return { element, reason: null }
  } catch (fault) {
    if (!isAboutThisRecord(fault, one.json.length)) throw loadError(page.address, fault)
    const reason = safeReason(fault, columnsOf(record))
    return keepInQuarantine(context, page, { element, reason }, () => replaceUnreadIssue(context, record, page, found))
  }
}

/**
 * Tries quarantined elements of a page again, one by one; of those that stay the reason is brought up to date.
 * @throws LANDING_CORRUPT where the page is not to be read; LOAD_FAILED for what is no fault of a record
 */
export async function retryQuarantined(
  context: LoadContext,
  page: LoadablePage,
  elements: readonly number[],
): Promise<Retried[]> {
  const body = await context.readBody(page.address)
  const retried: Retried[] = []
  for (const element of elements) retried.push(await retryOne(context, page, body, element))
  return retried
}
