// Records taken out of the quarantine: read from the landing again, mended under the catalog as it is now, and loaded each
// in a transaction of its own, together with the removal of its row from `_quarantine`.
import { quoteText } from '../catalog/layout.ts'
import type { RecordType } from '../catalog/shape.ts'
import { addMended, emptyBatch, RECORD_OF } from './batch.ts'
import type { LoadContext } from './load-context.ts'
import type { LoadablePage } from './page.ts'
import { columnsOf, isAboutThisRecord, loadError, tellable } from './quarantine-reason.ts'
import { removeMended, tolerate } from './tolerant.ts'
import { mergeOptions, stageRecords, writeRecords } from './write-records.ts'

export interface Retried {
  element: number
  /** Why it stays; null where it is loaded. */
  reason: string | null
}

const rowOf = ({ workspaceId }: LoadContext, page: LoadablePage, element: number): string =>
  `workspace_id = ${quoteText(workspaceId)} AND file = ${quoteText(page.path)} AND element = ${element}`

/**
 * The page as if it held this record alone: its window, its cost, and what was found in it, are in the books already.
 */
async function loadOne(
  context: LoadContext,
  record: RecordType,
  page: LoadablePage,
  found: ReturnType<typeof tolerate>,
): Promise<void> {
  const { writer, workspaceId } = context
  const batch = emptyBatch(record)
  const [one] = found.records
  await addMended(context, batch, page, found)
  const options = mergeOptions(context, batch)
  let settled: Awaited<ReturnType<typeof stageRecords>> = null
  try {
    await writer.transaction(
      async () => {
        await writeRecords(writer, options, settled)
        await writer.run(`DELETE FROM _quarantine WHERE ${rowOf(context, page, one!.element)}`)
        await writer.run(
          `UPDATE _loads SET records = records + 1 WHERE workspace_id = ${quoteText(workspaceId)} AND file = ${quoteText(page.path)}`,
        )
      },
      async () => {
        settled = await stageRecords(writer, batch, options)
      },
    )
  } finally {
    await removeMended(batch.mended)
  }
}

async function stays(context: LoadContext, page: LoadablePage, element: number, reason: string): Promise<Retried> {
  const { writer } = context
  const sql = `UPDATE _quarantine SET reason = ${quoteText(reason)} WHERE ${rowOf(context, page, element)}`
  await writer.transaction(() => writer.run(sql))
  return { element, reason }
}

async function retryOne(context: LoadContext, page: LoadablePage, body: Uint8Array, element: number): Promise<Retried> {
  const record = RECORD_OF[page.head.place.stream]
  const found = tolerate(record, body, new Set([element]))
  const [unreadable] = found.unreadable
  const [one] = found.records
  if (!one) return stays(context, page, element, unreadable?.reason ?? 'the page holds no such element')
  try {
    await loadOne(context, record, page, found)
    return { element, reason: null }
  } catch (fault) {
    if (!isAboutThisRecord(fault, one.json.length)) throw loadError(page.path, fault)
    return stays(context, page, element, tellable(fault, columnsOf(record)))
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
  const body = await context.readBody(page.path)
  const retried: Retried[] = []
  for (const element of elements) retried.push(await retryOne(context, page, body, element))
  return retried
}
