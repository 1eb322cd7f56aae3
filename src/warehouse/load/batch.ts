// Prepares a batch: decides which files are staged as landed, which are coerced first, and which undeclared paths the
// schema includes.
import { conversation } from '../../catalog/conversation/conversation.ts'
import { needsCoercion } from '../../catalog/inspection/inspect.ts'
import { CATALOG_VERSION } from '../../catalog/records.ts'
import type { RecordType } from '../../catalog/shape.ts'
import { type CoercedFile, removeCoerced, writeCoerced } from '../temporary-files.ts'
import type { LoadedFile } from './bookkeeping.ts'
import { type CoercedPage, coercePage } from './coerce-page.ts'
import { coercedFindings, cutOffIssue, inspectionFindings, type PageFindings } from './findings.ts'
import type { LoadablePage, LoadContext } from './load-input.ts'
import { LoadFault } from './quarantine-reason.ts'
import type { StageSource } from './stage.ts'

/** True for records whose pages DuckDB reads as landed. All other records are few, and are coerced first. */
const isStagedAsLanded = (record: RecordType): boolean => record === conversation

/** True if a path of the page differs only by case from one in `taken`. They cannot both be columns, so the later page is coerced. */
function clashes(taken: Map<string, string>, page: LoadablePage): boolean {
  const paths = Object.keys(page.head.notes.unknown)
  if (paths.some(path => (taken.get(path.toLowerCase()) ?? path) !== path)) return true
  for (const path of paths) taken.set(path.toLowerCase(), path)
  return false
}

interface BatchFile extends LoadedFile {
  findings: PageFindings
}

export interface Batch {
  record: RecordType
  files: BatchFile[]
  sources: StageSource[]
  unknownPaths: Set<string>
  coercedFiles: CoercedFile[]
}

export const emptyBatch = (record: RecordType): Batch => ({
  record,
  files: [],
  sources: [],
  unknownPaths: new Set(),
  coercedFiles: [],
})

export const recordsOf = (batch: Batch): number => batch.files.reduce((sum, file) => sum + file.records, 0)

function freshness(
  context: LoadContext,
  record: RecordType,
  { head }: LoadablePage,
): Omit<StageSource, 'file' | 'bundledPage' | 'bodyBytes'> {
  const agentId = head.place.agentId ?? (record.perAgent ? (head.requestedAgentId ?? head.requestedId ?? null) : null)
  const fetchedMs = head.sentAtServerMs
  return {
    agentId,
    asOfMs: fetchedMs - (record.modifiedKey ? context.mirrorLagMs : 0),
    fetchedMs,
    kind: head.facts?.window.kind ?? null,
  }
}

/** Returns the number of records that a page of an export must contain: those that were returned, without forgotten people's. */
const landedRecords = ({ facts, forgotten = 0 }: LoadablePage['head']): number | undefined =>
  facts ? facts.returned - forgotten : undefined

function addLanded(context: LoadContext, batch: Batch, page: LoadablePage, location: PageLocation): void {
  const { head } = page
  const records = landedRecords(head) ?? 0
  for (const path of Object.keys(head.notes.unknown)) batch.unknownPaths.add(path)
  batch.files.push({ page, records, coerced: false, unreadable: [], findings: inspectionFindings(head.notes) })
  if (records > 0)
    batch.sources.push({ ...freshness(context, batch.record, page), ...location, bodyBytes: head.bodyBytes })
}

/** Adds the issue of a possibly cut-off listing, which is reported once, with its last page. */
const withCutOff = ({ head }: LoadablePage, record: RecordType, findings: PageFindings): PageFindings =>
  head.cutOff === undefined ? findings : { ...findings, issues: [...findings.issues, cutOffIssue(record, head.cutOff)] }

/** Adds a page as its coerced records, which are written to temporary files. */
export async function addCoerced(
  context: LoadContext,
  batch: Batch,
  page: LoadablePage,
  coerced: CoercedPage,
): Promise<void> {
  const { records, unreadable } = coerced
  const { head } = page
  batch.files.push({
    page,
    records: records.length,
    coerced: true,
    unreadable,
    findings: withCutOff(page, batch.record, coercedFindings(coerced, head.notes.removed)),
  })
  for (const copy of await writeCoerced(context.temporaryFolder, records)) {
    batch.coercedFiles.push(copy)
    batch.sources.push({ ...freshness(context, batch.record, page), file: copy.file, bodyBytes: copy.bytes })
  }
}

/** Reads a landed page and coerces its records. @throws LANDING_CORRUPT */
export async function readCoerced(context: LoadContext, record: RecordType, page: LoadablePage): Promise<CoercedPage> {
  const found = coercePage(record, await context.readBody(page.address), {
    starredIds: page.head.starredIds,
    atMs: page.head.sentAtServerMs,
  })
  const reported = landedRecords(page.head)
  const held = found.records.length + found.unreadable.length
  if (reported !== undefined && reported !== held)
    throw new LoadFault(`it reports ${reported} records and contains ${held}`)
  return found
}

/** Returns the page with the elements of `reasons` moved to the unreadable ones. */
export function withQuarantined(found: CoercedPage, reasons: ReadonlyMap<number, string>): CoercedPage {
  const quarantined = found.records.filter(({ element }) => reasons.has(element))
  const unreadable = quarantined.map(({ element }) => ({ element, reason: reasons.get(element)! }))
  return {
    ...found,
    records: found.records.filter(({ element }) => !reasons.has(element)),
    unreadable: [...found.unreadable, ...unreadable].sort((a, b) => a.element - b.element),
  }
}

/** True if a page cannot be staged as landed. Paths that were unknown when it was inspected may be declared now. */
function mustBeCoerced({ record }: Batch, { head }: LoadablePage): boolean {
  const isOlder = head.catalogVersion !== CATALOG_VERSION
  // A refusal has no records, and may not be JSON.
  return !isStagedAsLanded(record) || (isOlder && head.facts?.returned !== 0) || needsCoercion(head.notes)
}

/** Returns pages that DuckDB reads itself and that may have changed on the disk since they were written. */
const unverifiedPages = ({ files }: Batch): LoadablePage[] =>
  files.filter(({ coerced, records, page }) => !coerced && records > 0 && !page.justLanded).map(({ page }) => page)

type PageLocation = Pick<StageSource, 'file' | 'bundledPage'>

/** Returns the file from which DuckDB reads each page, by page address. */
async function locate(context: LoadContext, pages: readonly LoadablePage[]): Promise<Map<string, PageLocation>> {
  const files = await context.pageFiles(pages.map(({ address }) => address))
  return new Map(
    files.flatMap(({ uri, addresses, isBundle }) =>
      addresses.map(address => [address, { file: uri, ...(isBundle && { bundledPage: address }) }] as const),
    ),
  )
}

/** Decides for each page whether DuckDB reads it as landed or reads its coerced copy. */
export async function prepareBatch(
  context: LoadContext,
  record: RecordType,
  pages: readonly LoadablePage[],
): Promise<Batch> {
  const batch = emptyBatch(record)
  const taken = new Map<string, string>()
  const locations = await locate(context, pages)
  try {
    for (const page of pages) {
      if (mustBeCoerced(batch, page) || clashes(taken, page))
        await addCoerced(context, batch, page, await readCoerced(context, record, page))
      else addLanded(context, batch, page, locations.get(page.address)!)
    }
    await context.verifyChecksums(unverifiedPages(batch))
  } catch (error) {
    await removeCoerced(batch.coercedFiles)
    throw error
  }
  return batch
}
