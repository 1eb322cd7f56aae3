// Retries quarantined records: reads them from the landing again, coerces them under the current catalog, and loads
// each in a separate transaction, which also deletes its row from `_quarantine`.

import { RECORD_OF } from '../../catalog/resources/resources.ts'
import type { RecordType } from '../../catalog/shape.ts'
import { addCoerced, emptyBatch } from '../load/batch.ts'
import { type CoercedPage, coercePage } from '../load/coerce-page.ts'
import type { LoadablePage, LoadContext } from '../load/load-input.ts'
import { columnsOf, isAboutThisRecord, loadError, safeReason } from '../load/quarantine-reason.ts'
import { mergeOptions, stageRecords, writeRecords } from '../load/write-records.ts'
import { removeCoerced } from '../temporary-files.ts'

interface Retried {
  element: number
  /** Reason why it stays in quarantine; null if it is loaded. */
  reason: string | null
}

/** SQL condition for an element's row in `_quarantine`, with its parameters. */
const ROW = 'workspace_id = $workspace AND file = $file AND element = $element'
const rowParams = ({ workspaceId }: LoadContext, { address }: LoadablePage, element: number) => ({
  workspace: workspaceId,
  file: address,
  element,
})

interface CoercedElement extends CoercedPage {
  element: number
}

/** Loads the page as if it contained only this record. The bookkeeping already contains the page's window and cost. */
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
  try {
    await writer.exclusively(async () => {
      const versions = await stageRecords(writer, batch, options)
      await writer.transaction(async () => {
        await writeRecords(writer, options, versions)
        await writer.run(`DELETE FROM _quarantine WHERE ${ROW}`, rowParams(context, page, found.element))
        await writer.run('UPDATE _loads SET records = records + 1 WHERE workspace_id = $workspace AND file = $file', {
          workspace: workspaceId,
          file: page.address,
        })
      })
    })
  } finally {
    await removeCoerced(batch.coercedFiles)
  }
}

async function keepInQuarantine(
  context: LoadContext,
  page: LoadablePage,
  { element, reason }: { element: number; reason: string },
): Promise<Retried> {
  const { writer } = context
  await writer.transaction(() =>
    writer.run(`UPDATE _quarantine SET reason = $reason WHERE ${ROW}`, {
      ...rowParams(context, page, element),
      reason,
    }),
  )
  return { element, reason }
}

async function retryOne(context: LoadContext, page: LoadablePage, body: Uint8Array, element: number): Promise<Retried> {
  const record = RECORD_OF[page.head.place.stream]
  const found = { ...coercePage(record, body, { only: new Set([element]), starredIds: page.head.starredIds }), element }
  const [unreadable] = found.unreadable
  const [one] = found.records
  if (!one) {
    const reason = unreadable?.reason ?? 'the page contains no such element'
    return keepInQuarantine(context, page, { element, reason })
  }
  try {
    await loadOne(context, record, page, found)
    return { element, reason: null }
  } catch (fault) {
    if (!isAboutThisRecord(fault, one.json.length)) throw loadError(page.address, fault)
    const reason = safeReason(fault, columnsOf(record))
    return keepInQuarantine(context, page, { element, reason })
  }
}

/**
 * Retries quarantined elements of a page, one by one, and updates the reason of those that stay.
 * @throws LANDING_CORRUPT if the page cannot be read; LOAD_FAILED for a fault that no record causes
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
