// Records that events bring into the stage: mended one by one, since they are few and of any shape.

import { type CoercedRecord, coerceRecord } from '../../catalog/coerce.ts'
import { quoteText } from '../../catalog/layout.ts'
import { type RecordType, sentFields } from '../../catalog/shape.ts'
import { recordStruct } from '../../catalog/staging.ts'
import { writeExactly } from '../../json/exact-json.ts'
import { iso, type Writer } from '../connection.ts'
import { STAGE } from '../load/stage.ts'
import { type IncomingEvent, orderedTimeMs } from './incoming.ts'

/** A record, and the event that brought it. */
export interface EventRecord extends Omit<CoercedRecord, 'record'> {
  event: IncomingEvent
  /** JSON, of declared types only. */
  record: string
}

/** Mends a record; none where it has no id. */
export function coerceEventRecord(
  type: RecordType,
  event: IncomingEvent,
  record: Record<string, unknown>,
): EventRecord[] {
  const mended = coerceRecord(type, record)
  if (mended === null) return []
  // Ten times as quick.
  const write = event.isPlain ? JSON.stringify : writeExactly
  return [{ ...mended, event, record: write(mended.record) }]
}

/** Fills the stage, as pages do. */
export async function stageEventRecords(
  writer: Writer,
  type: RecordType,
  records: readonly EventRecord[],
): Promise<void> {
  await writer.run(
    'CREATE OR REPLACE TEMP TABLE given (agent VARCHAR, as_of VARCHAR, fetched_at VARCHAR, record VARCHAR)',
  )
  await writer.appendTexts(
    'given',
    records.map(({ event, record }) => [
      event.conversation?.agentId ?? null,
      iso(event.createdMs),
      iso(orderedTimeMs(event)),
      record,
    ]),
  )
  const struct = quoteText(JSON.stringify(recordStruct(sentFields(type), {})))
  await writer.run(`CREATE OR REPLACE TEMP TABLE ${STAGE} AS
    SELECT 0 AS "__file", agent AS "__agent", as_of::TIMESTAMP AS "__as_of", fetched_at::TIMESTAMP AS "__fetched", NULL::VARCHAR AS "__kind",
      place AS "__element", d.* FROM (SELECT *, rowid AS place, from_json(record, ${struct}) AS d FROM given)`)
}
