// Loading: landed pages into tables, in one transaction for each batch of files.
//
//   plan the batch ─▶ stage ─▶ observe ─▶ drop what is superseded ─▶ delete by key, insert rows and children
//                     ─▶ fold patches ─▶ bookkeeping ─▶ commit
//
// Set-based SQL over the files does it; Node walks no record on this path. The exception is a page that inspection found
// wrong types in: it is mended first, record by record, and its mended copy is read by the same SQL. When a batch fails
// all the same, its files are loaded one by one, each by the tolerant path, and the one at fault is told.
import { join } from 'node:path'
import { agent } from '../catalog/agent.ts'
import { conversation } from '../catalog/conversation.ts'
import { compileInspection, needsMending } from '../catalog/inspect.ts'
import { layoutOf, quoteText } from '../catalog/layout.ts'
import { CATALOG_VERSION } from '../catalog/records.ts'
import type { RecordType } from '../catalog/shape.ts'
import { unknownTree } from '../catalog/unknown.ts'
import { ConvohouseError } from '../core/errors.ts'
import { keepBooks, type LoadedFile } from './bookkeeping.ts'
import { iso, type Writer } from './connection.ts'
import { tellFindings } from './findings.ts'
import { type MergeResult, mergeStage } from './merge.ts'
import { observe } from './observations.ts'
import type { LoadablePage } from './page.ts'
import { refold } from './patches.ts'
import { fillIncoming, fillStage, type StageSource } from './stage.ts'
import { type MendedPage, removeMended, writeMended } from './tolerant.ts'

export interface LoadContext {
  writer: Writer
  workspaceId: string
  /** IANA name; days are days of this zone. */
  timeZone: string
  /** How late the relational mirror may be, ms: a version is at least as fresh as its request less this. */
  mirrorLagMs: number
  /** Folder for mended copies. */
  temporaryFolder: string
  /** Body of a landed page, for the tolerant path. */
  readBody: (path: string) => Promise<Uint8Array>
  now: () => number
}

export interface LoadResult extends MergeResult {
  files: number
  records: number
  mended: number
  quarantined: number
}

const RECORD_OF = { conversations: conversation, agents: agent } as const

const inspections = new Map(Object.values(RECORD_OF).map(record => [record.name, compileInspection(record)]))

/** Records of a page's body. A listing of agents is a union (notes on the API, "Other endpoints"). */
function elementsOf(record: RecordType, body: Uint8Array): unknown[] {
  const parsed = JSON.parse(new TextDecoder().decode(body)) as Record<string, unknown>
  if (record.name === 'conversation') return parsed.data as unknown[]
  const all = [...((parsed.agents as unknown[]) ?? []), ...((parsed.starredAgents as unknown[]) ?? [])]
  return [...new Map(all.map(element => [(element as Record<string, unknown> | null)?.ID, element])).values()]
}

/** Pages inspected under an older catalog are inspected again: what was unknown then may be declared now. */
async function inspectedAgain(context: LoadContext, record: RecordType, page: LoadablePage): Promise<LoadablePage> {
  if (page.head.catalogVersion === CATALOG_VERSION) return page
  const notes = inspections.get(record.name)!(elementsOf(record, await context.readBody(page.path)))
  return { ...page, head: { ...page.head, notes } }
}

/** Paths whose spelling differs only by case cannot stand side by side as columns; the later page is mended. */
function clashes(taken: Map<string, string>, page: LoadablePage): boolean {
  const paths = Object.keys(page.head.notes.unknown)
  if (paths.some(path => (taken.get(path.toLowerCase()) ?? path) !== path)) return true
  for (const path of paths) taken.set(path.toLowerCase(), path)
  return false
}

interface Batch {
  record: RecordType
  files: LoadedFile[]
  sources: StageSource[]
  unknownPaths: Set<string>
  mended: MendedPage[]
}

async function prepare(
  context: LoadContext,
  record: RecordType,
  pages: readonly LoadablePage[],
  mendAll: boolean,
): Promise<Batch> {
  const batch: Batch = { record, files: [], sources: [], unknownPaths: new Set(), mended: [] }
  const taken = new Map<string, string>()
  for (const given of pages) {
    const page = await inspectedAgain(context, record, given)
    const { head } = page
    const source = {
      agentId: head.place.agentId,
      asOfMs: head.sentAtServerMs - (record.modifiedKey ? context.mirrorLagMs : 0),
      fetchedMs: head.sentAtServerMs,
    }
    const mend = mendAll || record.extra === 'rest' || needsMending(head.notes) || clashes(taken, page)
    if (!mend) {
      for (const path of Object.keys(head.notes.unknown)) batch.unknownPaths.add(path)
      const records = head.facts?.returned ?? 0
      batch.files.push({ page, records, mended: false, unreadable: [] })
      if (records > 0) batch.sources.push({ ...source, file: page.absolutePath, bodyBytes: head.bodyBytes })
      continue
    }
    const elements = elementsOf(record, await context.readBody(page.path))
    const mended = await writeMended({ record, elements, folder: context.temporaryFolder })
    batch.mended.push(mended)
    batch.files.push({ page, records: mended.records, mended: true, unreadable: mended.unreadable })
    if (mended.records > 0) batch.sources.push({ ...source, file: mended.file, bodyBytes: mended.bytes })
  }
  return batch
}

/** A file that was cut off behind its head is a whole gzip file still, and DuckDB reads nothing from it without a word. */
async function expectStaged(writer: Writer, records: number): Promise<void> {
  const [row] = await writer.rows<{ n: string }>('SELECT count(*) AS n FROM stage')
  if (Number(row?.n) !== records) throw new Error(`${records} records were expected, and ${row?.n} could be read`)
}

const NOTHING: MergeResult = { inserted: 0, replaced: 0, superseded: 0 }

async function loadRecords(context: LoadContext, batch: Batch): Promise<MergeResult> {
  if (batch.sources.length === 0) return NOTHING
  const { writer, workspaceId } = context
  const { record } = batch
  const unknown = unknownTree(batch.unknownPaths)
  const layout = layoutOf(record, context.timeZone)
  const nowMs = context.now()
  await fillStage(writer, { record, sources: batch.sources, unknown })
  await expectStaged(
    writer,
    batch.files.reduce((sum, file) => sum + file.records, 0),
  )
  await fillIncoming(writer, record)
  if (record === conversation) await observe(writer, { layout, workspaceId })
  const result = await mergeStage(writer, {
    layout,
    workspaceId,
    unknown,
    source: record === conversation ? 'export' : 'api',
    nowMs,
  })
  if (record === conversation) await refold(writer, { layout, workspaceId, nowMs })
  return result
}

/** Conversations that were asked for by id and not answered: the rows stay, and say since when. */
async function markUnanswered(context: LoadContext, pages: readonly LoadablePage[]): Promise<void> {
  for (const { head } of pages) {
    if (!head.facts || head.facts.missing.length === 0) continue
    const sentAt = `TIMESTAMP '${iso(head.sentAtServerMs)}'`
    await context.writer.rows(
      `UPDATE conversations SET _missing_since = coalesce(_missing_since, ${sentAt})
       WHERE workspace_id = ${quoteText(context.workspaceId)} AND agent_id = ${quoteText(head.facts.window.agentId)}
         AND _fetched_at < ${sentAt} AND conversation_id IN (SELECT unnest(from_json($1::JSON, '["VARCHAR"]')))`,
      [JSON.stringify(head.facts.missing)],
    )
  }
}

/** A complete listing tells which agents are gone: those that it did not tell of. */
async function markMissing(context: LoadContext, pages: readonly LoadablePage[]): Promise<void> {
  const last = pages.findLast(page => page.head.place.stream === 'agents' && page.head.lastPage)
  if (!last) return
  const begun = pages
    .filter(page => page.head.place.window === last.head.place.window)
    .map(page => page.head.sentAtServerMs)
  await context.writer.run(`UPDATE agents SET _missing_since = TIMESTAMP '${iso(last.head.sentAtServerMs)}'
    WHERE workspace_id = ${quoteText(context.workspaceId)} AND _missing_since IS NULL AND _fetched_at < TIMESTAMP '${iso(Math.min(...begun))}'`)
}

async function loadBatch(
  context: LoadContext,
  record: RecordType,
  pages: readonly LoadablePage[],
  mendAll: boolean,
): Promise<LoadResult> {
  const batch = await prepare(context, record, pages, mendAll)
  const { workspaceId, writer } = context
  try {
    return await writer.transaction(async () => {
      const merged = await loadRecords(context, batch)
      await markMissing(context, pages)
      await markUnanswered(context, pages)
      const told = batch.files.map(file => file.page)
      if (record.extra === 'unknown') await tellFindings(writer, { workspaceId, record: record.name, pages: told })
      await keepBooks(writer, { workspaceId, record: record.name, files: batch.files, nowMs: context.now() })
      return {
        ...merged,
        files: batch.files.length,
        records: batch.files.reduce((sum, file) => sum + file.records, 0),
        mended: batch.mended.length,
        quarantined: batch.files.reduce((sum, file) => sum + file.unreadable.length, 0),
      }
    })
  } finally {
    await removeMended(batch.mended)
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

const loadError = (page: LoadablePage, cause: unknown): ConvohouseError =>
  cause instanceof ConvohouseError
    ? cause
    : new ConvohouseError('LOAD_FAILED', {
        what: `The landed file ${page.path} could not be loaded: ${firstLine(cause)}`,
        mend: 'Nothing of it is lost: it stays in the landing. Report the file; `convohouse replay` loads it once this is mended.',
        cause,
        facts: { file: page.path },
      })

/**
 * Each page by the tolerant path. Behind one that cannot be loaded the later pages of its window wait for it, since a
 * window that is told to be done covers what it holds; all other pages are loaded, and then the first error is thrown.
 */
async function loadOneByOne(
  context: LoadContext,
  record: RecordType,
  pages: readonly LoadablePage[],
): Promise<LoadResult> {
  let result = EMPTY
  const held = new Map<string, ConvohouseError>()
  for (const page of pages) {
    const { agentId, window } = page.head.place
    const key = JSON.stringify([agentId, window])
    if (held.has(key)) continue
    try {
      result = added(result, await loadBatch(context, record, [page], true))
    } catch (cause) {
      held.set(key, loadError(page, cause))
    }
  }
  const [first] = held.values()
  if (first) throw first
  return result
}

const firstLine = (cause: unknown): string =>
  String((cause as Error)?.message ?? cause)
    .split('\n')[0]!
    .slice(0, 300)

/**
 * Loads landed pages, which must come in the order of the landing's list and not be loaded yet. A batch is all or
 * nothing; where it fails, pages are loaded one by one, and those that cannot be stop their own window only.
 * @throws LOAD_FAILED or LANDING_CORRUPT naming the first file at fault, when all that can be loaded is
 */
export async function loadPages(context: LoadContext, pages: readonly LoadablePage[]): Promise<LoadResult> {
  let result = EMPTY
  for (const stream of ['agents', 'conversations'] as const) {
    const record = RECORD_OF[stream]
    const own = pages.filter(page => page.head.place.stream === stream)
    if (own.length === 0) continue
    const loaded = await loadBatch(context, record, own, false).catch(() => loadOneByOne(context, record, own))
    result = added(result, loaded)
  }
  return result
}

export const mendedFolder = (home: string): string => join(home, 'tmp')
