// Writes a batch's records: stages them and resolves versions, then merges them inside the caller's transaction.
import { conversation } from '../../catalog/conversation/conversation.ts'
import { unknownTree } from '../../catalog/inspection/unknown-fields.ts'
import { layoutOf } from '../../catalog/layout.ts'
import type { Writer } from '../connection.ts'
import { reapplyPatches } from '../events/patches.ts'
import { markDeleted } from '../events/resources.ts'
import { type Batch, recordsOf } from './batch.ts'
import type { LoadContext } from './load-input.ts'
import { type MergeOptions, mergeStage, type ResolvedVersions, resolveVersions } from './merge.ts'
import { observeExports } from './observations.ts'
import { LoadFault } from './quarantine-reason.ts'
import { fillIncoming, fillStage } from './stage.ts'

export function mergeOptions(context: LoadContext, batch: Batch): MergeOptions {
  return {
    layout: layoutOf(batch.record, context.timeZone),
    workspaceId: context.workspaceId,
    unknown: unknownTree(batch.unknownPaths),
    source: batch.record === conversation ? 'export' : 'api',
    nowMs: context.now(),
  }
}

/** Stages a batch and decides which records to keep; null if it has none. Runs before the transaction begins. */
export async function stageRecords(
  writer: Writer,
  batch: Batch,
  options: MergeOptions,
): Promise<ResolvedVersions | null> {
  if (batch.sources.length === 0) return null
  await fillStage(writer, { record: batch.record, sources: batch.sources, unknown: options.unknown })
  await fillIncoming(writer, batch.record)
  await assertStaged(writer, recordsOf(batch))
  return resolveVersions(writer, options)
}

/** Throws if records are missing: DuckDB silently reads none from a file that was cut off after its head. */
async function assertStaged(writer: Writer, records: number): Promise<void> {
  const [row] = await writer.rows<{ n: string }>('SELECT count(*) AS n FROM incoming')
  if (Number(row?.n) !== records) throw new LoadFault(`${records} records were expected, and ${row?.n} could be read`)
}

/** Writes the staged records, inside the caller's transaction. */
export async function writeRecords(
  writer: Writer,
  options: MergeOptions,
  versions: ResolvedVersions | null,
): Promise<void> {
  if (versions === null) return
  const conversations = options.layout.record === conversation
  if (conversations) await observeExports(writer, options)
  await mergeStage(writer, options, versions)
  if (conversations) await reapplyPatches(writer, options)
  const { deletable, table } = options.layout.record
  if (deletable) await markDeleted(writer, { ...options, table, ids: 'SELECT id FROM incoming' })
}
