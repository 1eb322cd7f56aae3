// Loads landed pages into tables, in one transaction per batch of files.
//
//   prepare the batch ─▶ stage ─▶ resolve versions ─▶ begin ─▶ observe ─▶ delete by number, insert rows and children
//                     ─▶ reapply patches ─▶ bookkeeping ─▶ commit
//
// Set-based SQL over the files does the work; Node visits no record. The exception is a page in which inspection found wrong types:
// its records are coerced one by one (the tolerant path), and the same SQL reads the coerced copy. A failing batch is halved until
// the page at fault is found, which then takes the tolerant path. If it fails there too, it is halved until the records at fault are
// found, which are quarantined. Only a fault that no record causes (a full disk, a corrupt file, a bug of ours) stops a window.
import { RECORD_OF, type Stream } from '../../catalog/resources/resources.ts'
import type { RecordType } from '../../catalog/shape.ts'
import { type ConvohouseError, isCode } from '../../core/errors.ts'
import { canonicalJson } from '../../json/canonical.ts'
import { iso } from '../connection.ts'
import { warehouseFault } from '../fault.ts'
import { removeCoerced } from '../temporary-files.ts'
import { addCoerced, type Batch, emptyBatch, prepareBatch, readCoerced, recordsOf, withQuarantined } from './batch.ts'
import { writeBookkeeping } from './bookkeeping.ts'
import type { CoercedPage, CoercedRecordText, Unreadable } from './coerce-page.ts'
import { writeFindings } from './findings.ts'
import type { LoadablePage, LoadContext } from './load-input.ts'
import type { MergeOptions, ResolvedVersions } from './merge.ts'
import { markMissing } from './missing.ts'
import { columnsOf, isAboutRecords, isAboutThisRecord, loadError, safeReason } from './quarantine-reason.ts'
import { storeTimeZone } from './time-zone.ts'
import { mergeOptions, stageRecords, writeRecords } from './write-records.ts'

export interface LoadResult {
  files: number
  records: number
  /** Number of pages that took the tolerant path. */
  coerced: number
  quarantined: number
}

const EMPTY: LoadResult = { files: 0, records: 0, coerced: 0, quarantined: 0 }

const sum = (a: LoadResult, b: LoadResult): LoadResult => ({
  files: a.files + b.files,
  records: a.records + b.records,
  coerced: a.coerced + b.coerced,
  quarantined: a.quarantined + b.quarantined,
})

/**
 * Loads landed pages that are not loaded yet, given in the order in which the landing lists them. A batch is all or nothing; a
 * page that cannot be loaded stops only its own window.
 * @throws LOAD_FAILED or LANDING_CORRUPT naming the first file at fault, after everything loadable is loaded
 */
export async function loadPages(context: LoadContext, pages: readonly LoadablePage[]): Promise<LoadResult> {
  let result = EMPTY
  const stopped: Stopped = new Map()
  for (const stream of Object.keys(RECORD_OF) as Stream[]) {
    const own = pages.filter(page => page.head.place.stream === stream)
    result = sum(result, await loadHalving(context, RECORD_OF[stream], own, stopped))
  }
  const [error] = stopped.values()
  if (error) throw error
  return result
}

/** Windows with a page that could not be loaded, and the error. */
type Stopped = Map<string, ConvohouseError>

const windowOf = ({ head }: LoadablePage): string => JSON.stringify([head.place.agentId, head.place.window])

/**
 * Loads pages as one batch. If that fails, loads two halves, down to the page at fault, which takes the tolerant path.
 * If that page cannot be loaded at all, the later pages of its window wait, since a finished window covers all its
 * pages; all other pages are loaded.
 */
async function loadHalving(
  context: LoadContext,
  record: RecordType,
  given: readonly LoadablePage[],
  stopped: Stopped,
): Promise<LoadResult> {
  const pages = given.filter(page => !stopped.has(windowOf(page)))
  const [first] = pages
  if (!first) return EMPTY
  try {
    return await loadBatch(context, await prepareBatch(context, record, pages))
  } catch (fault) {
    throwDiskRefusal(context, fault)
    if (pages.length > 1) {
      const middle = pages.length >> 1
      const older = await loadHalving(context, record, pages.slice(0, middle), stopped)
      return sum(older, await loadHalving(context, record, pages.slice(middle), stopped))
    }
    // The tolerant path reads the file itself, so its error is the more precise one.
    return loadCoerced(context, record, first).catch(fault => {
      throwDiskRefusal(context, fault)
      stopped.set(windowOf(first), loadError(first.address, fault))
      return EMPTY
    })
  }
}

/** Rethrows a disk's refusal of writes, since it would affect every page and no page is to blame. */
function throwDiskRefusal(context: LoadContext, fault: unknown): void {
  const refusal = warehouseFault(context.temporaryFolder, fault)
  if (isCode(fault, 'HOME_UNUSABLE')) throw fault
  if (refusal) throw refusal
}

/** Thrown to roll back a rehearsal. */
const REHEARSED = new Error('rehearsed')

/** Loads a batch in one transaction. A rehearsal throws REHEARSED instead and changes nothing. */
async function loadBatch(context: LoadContext, batch: Batch, rehearsal = false): Promise<LoadResult> {
  const { writer } = context
  const options = mergeOptions(context, batch)
  try {
    return await writer.exclusively(async () => {
      const versions = await stageRecords(writer, batch, options)
      return writer.transaction(async () => {
        const result = await writeBatch(context, batch, options, versions)
        if (rehearsal) throw REHEARSED
        return result
      })
    })
  } finally {
    await removeCoerced(batch.coercedFiles)
  }
}

async function writeBatch(
  context: LoadContext,
  batch: Batch,
  options: MergeOptions,
  versions: ResolvedVersions | null,
): Promise<LoadResult> {
  const { workspaceId, writer } = context
  const { record, files } = batch
  const pages = files.map(file => file.page)
  await writeRecords(writer, options, versions)
  await markMissing(context, pages, versions !== null)
  await writeFindings(writer, { workspaceId, record, files })
  await storeTimeZone(writer, workspaceId, context.timeZone)
  await writeBookkeeping(writer, { workspaceId, record: record.name, files, nowMs: context.now() })
  for (const page of pages) await storeFindings(context, page)
  return {
    files: files.length,
    records: recordsOf(batch),
    coerced: files.filter(file => file.coerced).length,
    quarantined: files.reduce((count, file) => count + file.unreadable.length, 0),
  }
}

async function batchOfCoerced(
  context: LoadContext,
  record: RecordType,
  page: LoadablePage,
  found: CoercedPage,
): Promise<Batch> {
  const batch = emptyBatch(record)
  await addCoerced(context, batch, page, found)
  return batch
}

/**
 * Loads one page from its coerced records. If that fails, finds the records at fault, quarantines them and loads all
 * others. @throws faults that no record causes
 */
async function loadCoerced(context: LoadContext, record: RecordType, page: LoadablePage): Promise<LoadResult> {
  const found = await readCoerced(context, record, page)
  try {
    return await loadBatch(context, await batchOfCoerced(context, record, page, found))
  } catch (fault) {
    if (!isAboutRecords(fault)) throw fault
    const unloadable = await searchUnloadable({
      records: found.records,
      columns: columnsOf(record),
      rehearse: async records => {
        const batch = await batchOfCoerced(context, record, page, { ...found, records: [...records] })
        const error = await loadBatch(context, batch, true).catch((error: unknown) => error)
        return error === REHEARSED ? null : error
      },
    })
    if (unloadable.length === 0) throw fault
    const reasons = new Map(unloadable.map(({ element, reason }) => [element, reason]))
    return loadBatch(context, await batchOfCoerced(context, record, page, withQuarantined(found, reasons)))
  }
}

interface Search {
  records: readonly CoercedRecordText[]
  /** Loads these records and rolls back. @returns the error, or null */
  rehearse: (records: readonly CoercedRecordText[]) => Promise<unknown>
  /** Column names that a reason may contain. */
  columns: ReadonlySet<string>
}

/** Finds the records that cannot be loaded, with reasons, by halving down to single records. @throws faults that no record causes */
async function searchUnloadable(search: Search): Promise<Unreadable[]> {
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

type Json = Readonly<Record<string, unknown>>

/** Fields whose changes are ignored: the record's version, and fields that nobody analyzes (view times, pending states). */
export const NOT_ANALYZED: ReadonlySet<string> = new Set(
  'lastModified lastViewed funnelLastEvaluated pendingAiReplyAt isTyping'.split(' '),
)

/** Returns the keys of two records whose values differ, sorted. A missing value equals null. */
const changedKeys = (before: Json, after: Json): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter(key => !NOT_ANALYZED.has(key) && canonicalJson(before[key] ?? null) !== canonicalJson(after[key] ?? null))
    .sort()

/** Returns the records of a landed page, by id. */
async function recordsIn({ readBody }: LoadContext, address: string): Promise<Map<string, Json>> {
  const { data } = JSON.parse(new TextDecoder().decode(await readBody(address))) as { data: (Json | null)[] }
  return new Map(data.flatMap(record => (record?.ID == null ? [] : [[String(record.ID), record] as const])))
}

/** Pages that may contain the last export before $before of conversations in $ids, to the millisecond. */
const PREVIOUS = `SELECT file, list(id) AS ids FROM (
    SELECT r.file, o.conversation_id AS id FROM conversation_observations o JOIN _requests r
      ON r.workspace_id = o.workspace_id AND r.agent_id = o.agent_id AND r.sent_at = o.observed_at AND r.kind = o.kind
    WHERE o.workspace_id = $workspace AND o.agent_id = $agent AND o.source = 'export' AND o.observed_at < $before::TIMESTAMPTZ
      AND o.conversation_id IN (SELECT unnest(from_json($ids::JSON, '["VARCHAR"]')))
    QUALIFY rank() OVER (PARTITION BY o.conversation_id ORDER BY o.observed_at DESC) = 1)
  GROUP BY file ORDER BY file`

/**
 * Stores the results of a page's measured refreshes, in the transaction that loads it: each record is compared with the conversation's
 * previous export. Only landed pages are compared, never rows, so that a replay finds the same in any order of exports and events.
 */
async function storeFindings(context: LoadContext, { address, head }: LoadablePage): Promise<void> {
  const { writer, workspaceId: workspace } = context
  const { agentId: agent, known = [] } = head.facts?.window ?? {}
  if (agent === undefined || known.length === 0 || head.facts?.returned === 0) return
  const refreshed = await recordsIn(context, address)
  const [before, ids] = [iso(head.sentAtServerMs), JSON.stringify(known.filter(id => refreshed.has(id)))]
  const previous = await writer.rows<{ file: string; ids: string[] }>(PREVIOUS, { workspace, agent, before, ids })
  const found = new Map<string, string[]>()
  for (const { file, ids } of previous) {
    // If retention has removed the earlier page, there is nothing to compare.
    const records = await recordsIn(context, file).catch(() => new Map<string, Json>())
    for (const id of ids) if (records.has(id)) found.set(id, changedKeys(records.get(id)!, refreshed.get(id)!))
  }
  const key = { workspace_id: workspace, agent_id: agent, requested_at: before }
  const rows = [...found].map(([id, changed]) => ({ ...key, conversation_id: id, changed }))
  await writer.append('_measured_refreshes', rows)
}
