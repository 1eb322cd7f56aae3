// Loading: landed pages into tables, in one transaction for each batch of files.
//
//   plan the batch ─▶ stage ─▶ settle versions ─▶ begin ─▶ observe ─▶ delete by key, insert rows and children
//                     ─▶ fold patches ─▶ bookkeeping ─▶ commit
//
// Set-based SQL over the files does it; Node walks no record on this path. The exception is a page that inspection found
// wrong types in: it is mended first, record by record, and its mended copy is read by the same SQL. When a batch fails
// all the same, it is halved until the page at fault is found, and that one takes the tolerant path.
import { join } from 'node:path'
import { conversation } from '../catalog/conversation.ts'
import { layoutOf, quoteText } from '../catalog/layout.ts'
import type { RecordType } from '../catalog/shape.ts'
import { unknownTree } from '../catalog/unknown.ts'
import { ConvohouseError } from '../core/errors.ts'
import { type Batch, prepareBatch, RECORD_OF } from './batch.ts'
import { keepBooks } from './bookkeeping.ts'
import { iso, type Writer } from './connection.ts'
import { tellFindings } from './findings.ts'
import type { LoadContext } from './load-context.ts'
import { type MergeOptions, type MergeResult, mergeStage, type Settled, settleVersions } from './merge.ts'
import { observe } from './observations.ts'
import type { LoadablePage } from './page.ts'
import { refold } from './patches.ts'
import { fillIncoming, fillStage, STAGE } from './stage.ts'
import { removeMended } from './tolerant.ts'

export interface LoadResult extends MergeResult {
  files: number
  records: number
  mended: number
  quarantined: number
}

/** A file that was cut off behind its head is a whole gzip file still, and DuckDB reads nothing from it without a word. */
async function expectStaged(writer: Writer, records: number): Promise<void> {
  const [row] = await writer.rows<{ n: string }>(`SELECT count(*) AS n FROM ${STAGE}`)
  if (Number(row?.n) !== records) throw new Error(`${records} records were expected, and ${row?.n} could be read`)
}

const NOTHING: MergeResult = { inserted: 0, replaced: 0, superseded: 0 }

const recordsOf = (batch: Batch): number => batch.files.reduce((sum, file) => sum + file.records, 0)

function mergeOptions(context: LoadContext, batch: Batch): MergeOptions {
  return {
    layout: layoutOf(batch.record, context.timeZone),
    workspaceId: context.workspaceId,
    unknown: unknownTree(batch.unknownPaths),
    source: batch.record === conversation ? 'export' : 'api',
    nowMs: context.now(),
  }
}

async function stageRecords(writer: Writer, batch: Batch, options: MergeOptions): Promise<Settled | null> {
  if (batch.sources.length === 0) return null
  await fillStage(writer, { record: batch.record, sources: batch.sources, unknown: options.unknown })
  await expectStaged(writer, recordsOf(batch))
  await fillIncoming(writer, batch.record)
  return settleVersions(writer, options)
}

async function writeRecords(writer: Writer, options: MergeOptions, settled: Settled | null): Promise<MergeResult> {
  if (settled === null) return NOTHING
  const conversations = options.layout.record === conversation
  if (conversations) await observe(writer, options)
  const result = await mergeStage(writer, options, settled)
  if (conversations) await refold(writer, options)
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
  const batch = await prepareBatch(context, record, pages, mendAll)
  const { workspaceId, writer } = context
  const options = mergeOptions(context, batch)
  let settled: Settled | null = null
  try {
    return await writer.transaction(
      async () => {
        const merged = await writeRecords(writer, options, settled)
        await markMissing(context, pages)
        await markUnanswered(context, pages)
        const told = batch.files.map(file => file.page)
        if (record.extra === 'unknown') await tellFindings(writer, { workspaceId, record: record.name, pages: told })
        await keepBooks(writer, { workspaceId, record: record.name, files: batch.files, nowMs: context.now() })
        return {
          ...merged,
          files: batch.files.length,
          records: recordsOf(batch),
          mended: batch.mended.length,
          quarantined: batch.files.reduce((sum, file) => sum + file.unreadable.length, 0),
        }
      },
      async () => {
        settled = await stageRecords(writer, batch, options)
      },
    )
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

/** Windows of which a page could not be loaded, and why. */
type Held = Map<string, ConvohouseError>

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
  held: Held,
): Promise<LoadResult> {
  const pages = given.filter(page => !held.has(windowOf(page)))
  const [first] = pages
  if (!first) return EMPTY
  try {
    return await loadBatch(context, record, pages, false)
  } catch {
    if (pages.length > 1) {
      const middle = pages.length >> 1
      const older = await loadHalving(context, record, pages.slice(0, middle), held)
      return added(older, await loadHalving(context, record, pages.slice(middle), held))
    }
    // What the tolerant path says is nearer to the fault: it reads the file itself.
    return loadBatch(context, record, [first], true).catch(fault => {
      held.set(windowOf(first), loadError(first, fault))
      return EMPTY
    })
  }
}

const firstLine = (cause: unknown): string =>
  String((cause as Error)?.message ?? cause)
    .split('\n')[0]!
    .slice(0, 300)

/**
 * Loads landed pages, which must come in the order of the landing's list and not be loaded yet. A batch is all or
 * nothing; pages that cannot be loaded stop their own window only.
 * @throws LOAD_FAILED or LANDING_CORRUPT naming the first file at fault, when all that can be loaded is
 */
export async function loadPages(context: LoadContext, pages: readonly LoadablePage[]): Promise<LoadResult> {
  let result = EMPTY
  const held: Held = new Map()
  for (const stream of ['agents', 'conversations'] as const) {
    const own = pages.filter(page => page.head.place.stream === stream)
    result = added(result, await loadHalving(context, RECORD_OF[stream], own, held))
  }
  const [error] = held.values()
  if (error) throw error
  return result
}

export const mendedFolder = (home: string): string => join(home, 'tmp')
