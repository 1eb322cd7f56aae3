// Landed pages into one temporary table: the record's fields as columns, straight from the files. It is filled, and the
// versions settled, before the transaction that writes the warehouse begins.
import { layoutOf, quoteName, quoteText } from '../catalog/layout.ts'
import type { RecordType } from '../catalog/shape.ts'
import { recordStruct } from '../catalog/staging.ts'
import type { UnknownTree } from '../catalog/unknown.ts'
import type { WindowKind } from '../core/windows.ts'
import { iso, type Writer } from './connection.ts'

/** A file to stage: the landed page itself, or its mended copy. */
export interface StageSource {
  file: string
  agentId: string | null
  /** At least this fresh: the request's time on the server's clock less the mirror's lag, ms. */
  asOfMs: number
  fetchedMs: number
  /** Kind of the window that it is of; null for a listing. */
  kind: WindowKind | null
  bodyBytes: number
}

/** DuckDB's default for one JSON value. Its buffers grow with it, so it is raised only for a batch that needs it. */
const MAXIMUM_OBJECT_BYTES = 16 * 1024 * 1024

const literal = (value: string | null): string => (value === null ? 'NULL' : quoteText(value))

/** The staged records. */
export const STAGE = 'stage'

/** Fills the stage. Throws DuckDB's own error where a file cannot be read with this schema. */
export async function fillStage(
  writer: Writer,
  options: { record: RecordType; sources: readonly StageSource[]; unknown: UnknownTree },
): Promise<void> {
  const { record, sources, unknown } = options
  const files = sources.map(
    (source, index) =>
      `(${index}, ${quoteText(source.file)}, ${literal(source.agentId)}, TIMESTAMP '${iso(source.asOfMs)}', TIMESTAMP '${iso(source.fetchedMs)}', ${literal(source.kind)})`,
  )
  const objectBytes = Math.max(MAXIMUM_OBJECT_BYTES, ...sources.map(source => source.bodyBytes + 1024))
  const columns = `{data: ${quoteText(`${recordStruct(record.fields, unknown)}[]`)}}`
  const paths = sources.map(source => quoteText(source.file)).join(', ')
  // The join is on the file, before records are unnested: fifty rows, not five thousand.
  await writer.run(`CREATE OR REPLACE TEMP TABLE ${STAGE} AS
    WITH files(id, path, agent_id, as_of, fetched_at, kind) AS (VALUES ${files.join(', ')})
    SELECT id AS "__file", agent_id AS "__agent", as_of AS "__as_of", fetched_at AS "__fetched", kind AS "__kind", "__element", d.* FROM (
      SELECT f.*, generate_subscripts(page.data, 1) AS "__element", unnest(page.data) AS d
      FROM read_json([${paths}], format = 'unstructured', filename = true, maximum_object_size = ${objectBytes}, columns = ${columns}) AS page
      JOIN files f ON f.path = page.filename
      WHERE page.data IS NOT NULL)`)
}

/** The narrow side of the stage: keys and versions, one row for each staged record. */
export async function fillIncoming(writer: Writer, record: RecordType): Promise<void> {
  const layout = layoutOf(record)
  const agent = record.perAgent ? '"__agent"' : "''"
  const modified = record.modifiedKey ? `to_moment(${quoteName(record.modifiedKey)})` : 'NULL::TIMESTAMP'
  await writer.run(`CREATE OR REPLACE TEMP TABLE incoming AS
    SELECT rowid AS row, ${agent} AS agent_id, ${quoteName(layout.record.id.key)} AS id, ${modified} AS modified,
      "__as_of" AS as_of, "__fetched" AS fetched_at, "__file" AS file, "__element" AS element FROM ${STAGE}`)
}
