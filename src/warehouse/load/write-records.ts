// A batch's records on their way into the tables: staged, settled by version, then merged inside the caller's transaction.
import { conversation } from '../../catalog/conversation.ts'
import { layoutOf } from '../../catalog/layout.ts'
import { unknownTree } from '../../catalog/unknown.ts'
import type { Writer } from '../connection.ts'
import { reapplyPatches } from '../events/patches.ts'
import { markDeleted } from '../events/resources.ts'
import type { Batch } from './batch.ts'
import type { LoadContext } from './load-context.ts'
import { type MergeOptions, type MergeResult, mergeStage, type ResolvedVersions, resolveVersions } from './merge.ts'
import { observe } from './observations.ts'
import { LoadFault } from './quarantine-reason.ts'
import { fillIncoming, fillStage } from './stage.ts'

/** A file that was cut off behind its head is a whole gzip file still, and DuckDB reads nothing from it without a word. */
async function assertStaged(writer: Writer, records: number): Promise<void> {
  const [row] = await writer.rows<{ n: string }>('SELECT count(*) AS n FROM incoming')
  if (Number(row?.n) !== records) throw new LoadFault(`${records} records were expected, and ${row?.n} could be read`)
}

export const NOTHING: MergeResult = { inserted: 0, replaced: 0, superseded: 0 }

export const recordsOf = (batch: Batch): number => batch.files.reduce((sum, file) => sum + file.records, 0)

export function mergeOptions(context: LoadContext, batch: Batch): MergeOptions {
  return {
    layout: layoutOf(batch.record, context.timeZone),
    workspaceId: context.workspaceId,
    unknown: unknownTree(batch.unknownPaths),
    source: batch.record === conversation ? 'export' : 'api',
    nowMs: context.now(),
  }
}

/** Stages a batch and settles which records stay; null where it has none. Before the transaction begins. */
export async function stageRecords(
  writer: Writer,
  batch: Batch,
  options: MergeOptions,
): Promise<ResolvedVersions | null> {
  if (batch.sources.length === 0) return null
  await fillStage(writer, { record: batch.record, sources: batch.sources, unknown: options.unknown })
  const staged = recordsOf(batch)
  await fillIncoming(writer, batch.record)
  await assertStaged(writer, staged)
  return resolveVersions(writer, options, staged)
}

/** Writes what was staged, inside the caller's transaction. */
export async function writeRecords(
  writer: Writer,
  options: MergeOptions,
  settled: ResolvedVersions | null,
): Promise<MergeResult> {
  if (settled === null) return NOTHING
  const conversations = options.layout.record === conversation
  if (conversations) await observe(writer, options)
  const result = await mergeStage(writer, options, settled)
  if (conversations) await reapplyPatches(writer, options)
  const { deletable, table } = options.layout.record
  if (deletable) await markDeleted(writer, { ...options, table, ids: 'SELECT id FROM incoming' })
  return result
}
