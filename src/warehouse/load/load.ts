// Loading: landed pages into tables, in one transaction for each batch of files.
//
//   plan the batch ─▶ stage ─▶ settle versions ─▶ begin ─▶ observe ─▶ delete by number, insert rows and children
//                     ─▶ fold patches ─▶ bookkeeping ─▶ commit
//
// Set-based SQL over the files does it; Node walks no record on this path. The exception is a page that inspection found
// wrong types in: it is mended first, record by record, and its mended copy is read by the same SQL. When a batch fails
// all the same, it is halved until the page at fault is found, and that one takes the tolerant path; when that fails, it
// is halved in turn until the records at fault are found, and those are quarantined. Only what is no fault of a record
// (a full disk, a corrupt file, a fault of ours) stops a window.

import { RECORD_OF, type Stream } from '../../catalog/resources.ts'
import type { RecordType } from '../../catalog/shape.ts'
import { type ConvohouseError, isCode } from '../../core/errors.ts'
import { warehouseFault } from '../fault.ts'
import { addCoerced, type Batch, emptyBatch, prepareBatch, readCoerced, withQuarantined } from './batch.ts'
import { writeBookkeeping } from './bookkeeping.ts'
import { type CoercedPage, removeCoerced } from './coerce-page.ts'
import { writeFindings } from './findings.ts'
import type { LoadContext } from './load-context.ts'
import type { LoadablePage } from './load-input.ts'
import type { MergeOptions, MergeResult, ResolvedVersions } from './merge.ts'
import { markMissing } from './missing.ts'
import { columnsOf, isAboutRecords, loadError } from './quarantine-reason.ts'
import { searchUnloadable } from './quarantine-search.ts'
import { storeTimeZone } from './time-zone.ts'
import { mergeOptions, NOTHING, recordsOf, stageRecords, writeRecords } from './write-records.ts'

export interface LoadResult extends MergeResult {
  files: number
  records: number
  mended: number
  quarantined: number
}

/** Thrown to take a rehearsal back. */
const REHEARSED = new Error('rehearsed')

async function writeBatch(
  context: LoadContext,
  batch: Batch,
  options: MergeOptions,
  settled: ResolvedVersions | null,
): Promise<LoadResult> {
  const { workspaceId, writer } = context
  const { record, files } = batch
  const pages = files.map(file => file.page)
  const merged = await writeRecords(writer, options, settled)
  await markMissing(context, pages, settled !== null)
  await writeFindings(writer, { workspaceId, record, files })
  await storeTimeZone(writer, workspaceId, context.timeZone)
  await writeBookkeeping(writer, { workspaceId, record: record.name, files, nowMs: context.now() })
  return {
    ...merged,
    files: files.length,
    records: recordsOf(batch),
    mended: files.filter(file => file.mended).length,
    quarantined: files.reduce((sum, file) => sum + file.unreadable.length, 0),
  }
}

/** Loads a batch in one transaction; a rehearsal throws REHEARSED instead, and leaves nothing behind. */
async function loadBatch(context: LoadContext, batch: Batch, rehearsal = false): Promise<LoadResult> {
  const { writer } = context
  const options = mergeOptions(context, batch)
  let settled: ResolvedVersions | null = null
  try {
    return await writer.transaction(
      async () => {
        const result = await writeBatch(context, batch, options, settled)
        if (rehearsal) throw REHEARSED
        return result
      },
      async () => {
        settled = await stageRecords(writer, batch, options)
      },
    )
  } finally {
    await removeCoerced(batch.coercedFiles)
  }
}

const added = (a: LoadResult, b: LoadResult): LoadResult => ({
  inserted: a.inserted + b.inserted,
  replaced: a.replaced + b.replaced,
  superseded: a.superseded + b.superseded,
  files: a.files + b.files,
  records: a.records + b.records,
  mended: a.mended + b.mended,
  quarantined: a.quarantined + b.quarantined,
})

const EMPTY: LoadResult = { ...NOTHING, files: 0, records: 0, mended: 0, quarantined: 0 }

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
 * Loads one page record by record mended. Where that fails, the records at fault are looked for and quarantined, and all
 * others are loaded. @throws what is no fault of a record
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
    const away = new Map(unloadable.map(({ element, reason }) => [element, reason]))
    return loadBatch(context, await batchOfCoerced(context, record, page, withQuarantined(found, away)))
  }
}

/** Windows of which a page could not be loaded, and why. */
type StoppedWindows = Map<string, ConvohouseError>

const windowOf = ({ head }: LoadablePage): string => JSON.stringify([head.place.agentId, head.place.window])

/**
 * Loads pages as one batch; where that fails, as two halves, down to the page at fault, which takes the tolerant path.
 * Behind one that cannot be loaded even so, the later pages of its window wait for it, since a window that is told to
 * be done covers what it holds; all other pages are loaded.
 */
async function loadHalving(
  context: LoadContext,
  record: RecordType,
  given: readonly LoadablePage[],
  held: StoppedWindows,
): Promise<LoadResult> {
  const pages = given.filter(page => !held.has(windowOf(page)))
  const [first] = pages
  if (!first) return EMPTY
  try {
    return await loadBatch(context, await prepareBatch(context, record, pages))
  } catch (fault) {
    throwDiskRefusal(context, fault)
    if (pages.length > 1) {
      const middle = pages.length >> 1
      const older = await loadHalving(context, record, pages.slice(0, middle), held)
      return added(older, await loadHalving(context, record, pages.slice(middle), held))
    }
    // What the tolerant path says is nearer to the fault: it reads the file itself.
    return loadCoerced(context, record, first).catch(fault => {
      throwDiskRefusal(context, fault)
      held.set(windowOf(first), loadError(first.address, fault))
      return EMPTY
    })
  }
}

/** What the disk refuses is no page's fault: it is refused to every page. */
function throwDiskRefusal(context: LoadContext, fault: unknown): void {
  const refusal = warehouseFault(context.temporaryFolder, fault)
  if (isCode(fault, 'HOME_UNUSABLE')) throw fault
  if (refusal) throw refusal
}

/**
 * Loads landed pages, which must come in the order of the landing's list and not be loaded yet. A batch is all or
 * nothing; pages that cannot be loaded stop their own window only.
 * @throws LOAD_FAILED or LANDING_CORRUPT naming the first file at fault, when all that can be loaded is
 */
export async function loadPages(context: LoadContext, pages: readonly LoadablePage[]): Promise<LoadResult> {
  let result = EMPTY
  const held: StoppedWindows = new Map()
  for (const stream of Object.keys(RECORD_OF) as Stream[]) {
    const own = pages.filter(page => page.head.place.stream === stream)
    result = added(result, await loadHalving(context, RECORD_OF[stream], own, held))
  }
  const [error] = held.values()
  if (error) throw error
  return result
}
