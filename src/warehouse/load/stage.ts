// Reads landed pages directly from their files into one temporary table, the stage, with the record's fields as
// columns. It is filled, and versions are resolved, before the transaction that writes the warehouse begins.

import type { UnknownTree } from '../../catalog/inspection/unknown-fields.ts'
import { layoutOf, quoteName, quoteText } from '../../catalog/layout.ts'
import { type RecordType, stagedFields } from '../../catalog/shape.ts'
import { recordStruct } from '../../catalog/staging.ts'
import type { WindowKind } from '../../core/planning/windows.ts'
import { iso, type Writer } from '../connection.ts'
import { isAboutRecords } from './quarantine-reason.ts'

/** A file to stage: the landed page itself, or a coerced copy. */
export interface StageSource {
  file: string
  /** Name of this source's page, if the file is a bundle. */
  bundledPage?: string
  agentId: string | null
  /** Minimum freshness: the request's time on the server's clock minus the mirror's lag, ms. */
  asOfMs: number
  fetchedMs: number
  /** Kind of the window; null for a listing. */
  kind: WindowKind | null
  bodyBytes: number
}

/** DuckDB's default limit for one JSON value. Its buffers grow with the limit, which is raised only for a batch that needs it. */
const MAXIMUM_OBJECT_BYTES = 16 * 1024 * 1024

const text = (value: string | null): string => `${value === null ? 'NULL' : quoteText(value)}::VARCHAR`

/** Returns an SQL struct with the source's fields except its records. */
const sourceStruct = ({ agentId, asOfMs, fetchedMs, kind }: StageSource, id: number): string =>
  `{id: ${id}, agent_id: ${text(agentId)}, as_of: TIMESTAMPTZ '${iso(asOfMs)}', fetched_at: TIMESTAMPTZ '${iso(fetchedMs)}', kind: ${text(kind)}}`

/** Table with the staged records. */
export const STAGE = 'stage'

/** Fills the stage. @throws DuckDB's own error if a file cannot be read with this schema */
export async function fillStage(
  writer: Writer,
  options: { record: RecordType; sources: readonly StageSource[]; unknown: UnknownTree },
): Promise<void> {
  const { record, sources, unknown } = options
  const keys = sources.map(({ file, bundledPage }) =>
    quoteText(bundledPage === undefined ? file : `${file}\n${bundledPage}`),
  )
  const facts = sources.map((source, id) => `${keys[id]}: ${sourceStruct(source, id)}`)
  const objectBytes = Math.max(MAXIMUM_OBJECT_BYTES, ...sources.map(source => source.bodyBytes + 1024))
  const paths = (of: readonly StageSource[]) => [...new Set(of.map(({ file }) => quoteText(file)))].join(', ')
  const alone = sources.filter(({ bundledPage }) => bundledPage === undefined)
  const bundled = sources.filter(({ bundledPage }) => bundledPage !== undefined)
  const records = `${recordStruct(stagedFields(record), unknown)}[]`
  const pages = (format: string) => {
    const options = `format = '${format}', maximum_object_size = ${objectBytes}`
    const ofFiles = `SELECT filename AS page, data FROM read_json([${paths(alone)}], ${options}, filename = true,
      columns = {data: ${quoteText(records)}}) WHERE data IS NOT NULL`
    // A bundle may contain pages of other batches, and a page may be in two bundles.
    const ofBundles = `SELECT concat(filename, chr(10), _page) AS page, _body.data AS data FROM read_json([${paths(bundled)}], ${options}, filename = true,
      columns = {_page: 'VARCHAR', _body: ${quoteText(`STRUCT(data ${records})`)}}) WHERE page IN (${keys.join(', ')}) AND _body.data IS NOT NULL`
    return [...(alone.length > 0 ? [ofFiles] : []), ...(bundled.length > 0 ? [ofBundles] : [])].join(' UNION ALL ')
  }
  // The map is looked up once per page, before records are unnested; a join would copy the wide rows again.
  const staged = (format: 'newline_delimited' | 'unstructured') => `CREATE OR REPLACE TEMP TABLE ${STAGE} AS
    SELECT f.id AS "__file", f.agent_id AS "__agent", f.as_of AS "__as_of", f.fetched_at AS "__fetched", f.kind AS "__kind", "__element", d.* FROM (
      SELECT (MAP {${facts.join(', ')}})[page] AS f, generate_subscripts(data, 1) AS "__element", unnest(data) AS d FROM (${pages(format)}))`
  // Reading line by line takes a fifth less time than finding the end of a value by braces and strings. A body with
  // line feeds is refused, never misread, since its first line is not a complete value.
  await writer.run(staged('newline_delimited')).catch(fault => {
    if (!isAboutRecords(fault)) throw fault
    return writer.run(staged('unstructured'))
  })
}

/** Fills `incoming` with the keys and versions of the staged records, one narrow row each. */
export async function fillIncoming(writer: Writer, record: RecordType): Promise<void> {
  const layout = layoutOf(record)
  const agent = record.perAgent ? '"__agent"' : "''"
  const modified = record.modifiedKey
    ? `changed_at(${quoteName(record.modifiedKey)}, "__fetched")`
    : 'NULL::TIMESTAMPTZ'
  await writer.run(`CREATE OR REPLACE TEMP TABLE incoming AS
    SELECT rowid AS row, ${agent} AS agent_id, ${quoteName(layout.record.id.key)} AS id, ${modified} AS modified,
      "__as_of" AS as_of, "__fetched" AS fetched_at, "__file" AS file, "__element" AS element FROM ${STAGE}`)
}
